//! What shows that a device holds something: the magic bytes of file systems, partition tables, volumes and swap.
//!
//! The places and bytes are those of the formats' own definitions: `include/uapi/linux/magic.h`, `raid/md_p.h`,
//! `bcache.h` and the file systems' headers of Linux, the UEFI specification (GPT), the on-disk format notes of LUKS and
//! ZFS, and LVM2's label format. One that is missing here is a device that is overwritten without a question, so when in
//! doubt a signature is in the table.

use crate::sys::files;
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::io;

/// Where magic bytes are.
#[derive(Debug, Clone, Copy)]
enum At {
    /// So many bytes from the start.
    Start(u64),
    /// So many bytes before the end.
    End(u64),
}

use At::{End, Start};

struct Signature {
    name: &'static str,
    /// All places where it may be.
    at: &'static [At],
    magic: &'static [u8],
    /// Further bytes that must be there too, so many behind or before the place: short magic bytes alone are found in
    /// random data now and then.
    and: Option<(i64, &'static [u8])>,
}

const fn signature(name: &'static str, at: &'static [At], magic: &'static [u8]) -> Signature {
    Signature { name, at, magic, and: None }
}

const fn both(name: &'static str, at: &'static [At], magic: &'static [u8], and: (i64, &'static [u8])) -> Signature {
    Signature { name, at, magic, and: Some(and) }
}

const SWAP: &str = "swap space";
/// The last ten bytes of the first page, whatever its size.
const PAGE_ENDS: &[At] = &[Start(4086), Start(8182), Start(16_374), Start(32_758), Start(65_526)];
const LUKS: &str = "a LUKS container";
const LUKS2_COPIES: &[At] = &[
    Start(16 << 10),
    Start(32 << 10),
    Start(64 << 10),
    Start(128 << 10),
    Start(256 << 10),
    Start(512 << 10),
    Start(1 << 20),
    Start(2 << 20),
    Start(4 << 20),
];
const MD: &str = "a part of an md RAID";
const GPT: &str = "a GPT partition table";
const MBR: &str = "an MBR partition table or boot sector";

static SIGNATURES: &[Signature] = &[
    // Partition tables.
    signature(MBR, &[Start(510)], b"\x55\xaa"),
    signature(GPT, &[Start(512), Start(4096), End(512), End(4096)], b"EFI PART"),
    signature("a BSD disk label", &[Start(0), Start(64), Start(512)], b"\x57\x45\x56\x82"),
    both("an Apple partition map", &[Start(0)], b"ER", (512, b"PM")),
    // The block size is 1024 << n for an n of one byte; the magic has two bytes only.
    both("an ext2, ext3 or ext4 file system", &[Start(1080)], b"\x53\xef", (-31, b"\0\0\0")),
    signature("an XFS file system", &[Start(0)], b"XFSB"),
    signature("a btrfs file system", &[Start(0x1_0040), Start(0x400_0040)], b"_BHRfS_M"),
    signature("an F2FS file system", &[Start(1024)], b"\x10\x20\xf5\xf2"),
    signature(
        "a bcachefs file system",
        &[Start(4120)],
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    both("a NILFS2 file system", &[Start(1030)], b"\x34\x34", (-6, b"\x02\0\0\0")),
    signature("a JFS file system", &[Start(32_768)], b"JFS1"),
    signature("a ReiserFS file system", &[Start(65_588), Start(8244)], b"ReIsEr"),
    signature("a Reiser4 file system", &[Start(65_536)], b"ReIsEr4"),
    signature("an OCFS2 file system", &[Start(1024), Start(2048), Start(4096), Start(8192)], b"OCFSV2"),
    signature("a GFS2 file system", &[Start(65_536)], b"\x01\x16\x19\x70"),
    signature("a UFS file system", &[Start(66_908), Start(9564), Start(263_516)], b"\x19\x01\x54\x19"),
    signature("a UFS file system", &[Start(66_908), Start(9564), Start(263_516)], b"\x54\x19\x01\0"),
    signature("a VxFS file system", &[Start(1024), Start(8192)], b"\xf5\xfc\x01\xa5"),
    signature("a VMFS volume", &[Start(1 << 20)], b"\x0d\xd0\x01\xc0"),
    signature("an NTFS file system", &[Start(3)], b"NTFS    "),
    signature("an exFAT file system", &[Start(3)], b"EXFAT   "),
    signature("a ReFS file system", &[Start(3)], b"ReFS\0\0\0\0"),
    signature("a BitLocker volume", &[Start(3)], b"-FVE-FS-"),
    signature("a FAT file system", &[Start(54)], b"FAT1"),
    signature("a FAT file system", &[Start(82)], b"FAT32   "),
    signature("an APFS container", &[Start(32)], b"NXSB"),
    signature("an HFS+ file system", &[Start(1024)], b"H+\0\x04"),
    signature("an HFS+ file system", &[Start(1024)], b"HX\0\x05"),
    signature("an ISO 9660 file system", &[Start(32_769)], b"CD001"),
    signature("a UDF file system", &[Start(32_769), Start(34_817)], b"BEA01"),
    signature("a SquashFS file system", &[Start(0)], b"hsqs"),
    signature("an EROFS file system", &[Start(1024)], b"\xe2\xe1\xf5\xe0"),
    signature("a cramfs file system", &[Start(0)], b"\x45\x3d\xcd\x28"),
    signature("a zonefs file system", &[Start(0)], b"SFOZ"),
    // Volumes and parts of volumes.
    signature("an LVM physical volume", &[Start(0), Start(512), Start(1024), Start(1536)], b"LABELONE"),
    signature(MD, &[Start(0), Start(4096)], b"\xfc\x4e\x2b\xa9"),
    signature("a bcache device", &[Start(4120)], b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    signature(LUKS, &[Start(0)], b"LUKS\xba\xbe"),
    signature(LUKS, LUKS2_COPIES, b"SKUL\xba\xbe"),
    signature("a dm-integrity device", &[Start(0)], b"integrt\0"),
    signature("a dm-verity device", &[Start(0)], b"verity\0\0"),
    signature("a VDO volume", &[Start(0)], b"dmvdo001"),
    signature("a Ceph BlueStore device", &[Start(0)], b"bluestore block device"),
    signature("a Stratis pool", &[Start(516), Start(4612)], b"!Stra0tis\x86\xff\x02^\x41rh"),
    signature("an Oracle ASM disk", &[Start(32)], b"ORCLDISK"),
    signature("a part of an Intel RAID", &[End(1024)], b"Intel Raid ISM Cfg Sig. "),
    signature("a part of a DDF RAID", &[End(512)], b"\xde\x11\xde\x11"),
    // Swap, and what a hibernated machine left in it.
    signature(SWAP, PAGE_ENDS, b"SWAPSPACE2"),
    signature(SWAP, PAGE_ENDS, b"SWAP-SPACE"),
    signature(SWAP, PAGE_ENDS, b"S1SUSPEND\0"),
    signature(SWAP, PAGE_ENDS, b"LINHIB0001"),
];

/// The magic number of ZFS's uberblocks, of which a label has many.
const UBERBLOCK: u64 = 0x00ba_b10c;
const LABEL: u64 = 256 << 10;

/// The magic number of md, which version 0.90 writes in the order of the machine.
const MD_MAGIC: u32 = 0xa92b_4efc;

/// What a device of `bytes` bytes holds, each once.
pub(super) fn of(device: BorrowedFd<'_>, bytes: u64) -> io::Result<Vec<&'static str>> {
    let disk = Disk { device, bytes };
    let mut found = Vec::new();
    let mut add = |name: &'static str| {
        if !found.contains(&name) {
            found.push(name)
        }
    };
    for Signature { name, at, magic, and } in SIGNATURES {
        for place in *at {
            let Some(place) = disk.place(*place) else { continue };
            let with = |(offset, bytes): &(i64, &[u8])| match place.checked_add_signed(*offset) {
                Some(at) => disk.has(at, bytes),
                None => Ok(false),
            };
            if disk.has(place, magic)? && and.as_ref().map_or(Ok(true), with)? {
                add(name);
            }
        }
    }
    if disk.is_md_at_the_end()? {
        add(MD);
    }
    if disk.is_zfs()? {
        add("a part of a ZFS pool");
    }
    Ok(found)
}

struct Disk<'a> {
    device: BorrowedFd<'a>,
    bytes: u64,
}

impl Disk<'_> {
    fn place(&self, at: At) -> Option<u64> {
        match at {
            Start(offset) => Some(offset),
            End(before) => self.bytes.checked_sub(before),
        }
    }

    /// The bytes at a place; fewer where the device ends.
    fn read(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut data = vec![0; len];
        let mut done = 0;
        while done < len {
            match files::read_at(self.device.as_raw_fd(), &mut data[done..], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        data.truncate(done);
        Ok(data)
    }

    fn has(&self, at: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.read(at, magic.len())? == magic)
    }

    /// md 1.0 lies 8 to 12 KiB before the end, on a multiple of 4 KiB; md 0.90 in the last whole 64 KiB but one.
    fn is_md_at_the_end(&self) -> io::Result<bool> {
        let sectors = self.bytes / 512;
        let one = sectors.checked_sub(16).map(|sector| (sector & !7) * 512);
        let old = (self.bytes & !0xffff).checked_sub(0x1_0000);
        for at in [one, old].into_iter().flatten() {
            if self.has(at, &MD_MAGIC.to_le_bytes())? || self.has(at, &MD_MAGIC.to_be_bytes())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Four labels, two at each end. The second half of each is a ring of uberblocks, which lie on multiples of 1 KiB.
    fn is_zfs(&self) -> io::Result<bool> {
        let whole = self.bytes - self.bytes % LABEL;
        let labels = [Some(0), Some(LABEL), whole.checked_sub(2 * LABEL), whole.checked_sub(LABEL)];
        for label in labels.into_iter().flatten() {
            let ring = self.read(label + LABEL / 2, LABEL as usize / 2)?;
            let is =
                |block: &[u8]| [UBERBLOCK.to_le_bytes(), UBERBLOCK.to_be_bytes()].iter().any(|m| block.starts_with(m));
            if ring.chunks(1024).any(is) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream::Seed;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    const SIZE: u64 = 72 << 20;

    /// What is found on a disk that has only this.
    fn found(pieces: &[(u64, &[u8])]) -> Vec<&'static str> {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        pieces.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
        of(file.as_fd(), SIZE).unwrap()
    }

    #[test]
    fn each_signature_is_found_at_each_of_its_places() {
        for Signature { name, at, magic, and } in SIGNATURES {
            for place in *at {
                let place = match place {
                    Start(at) => *at,
                    End(before) => SIZE - before,
                };
                let and = and.map(|(offset, bytes)| (place.checked_add_signed(offset).unwrap(), bytes));
                let pieces: Vec<(u64, &[u8])> = [(place, *magic)].into_iter().chain(and).collect();
                let found = found(&pieces);
                assert!(found.contains(name), "{name} at {place}: {found:?}");
            }
        }
    }

    #[test]
    fn what_has_no_fixed_place_is_found_at_both_ends() {
        let label = 0x00ba_b10c_u64;
        for at in [129 << 10, (256 + 200) << 10, SIZE - (512 << 10) + (131 << 10), SIZE - (1 << 10)] {
            assert_eq!(found(&[(at, &label.to_le_bytes())]), ["a part of a ZFS pool"], "{at}");
            assert_eq!(found(&[(at, &label.to_be_bytes())]), ["a part of a ZFS pool"], "{at}");
        }
        for at in [SIZE - 8192, SIZE - 65_536] {
            assert_eq!(found(&[(at, &MD_MAGIC.to_le_bytes())]), [MD], "{at}");
        }
    }

    #[test]
    fn nothing_is_found_in_zeros_nor_on_a_device_of_a_sector() {
        assert_eq!(found(&[]), [""; 0]);
        for bytes in [0, 1, 512, 1024, 65_535] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(bytes).unwrap();
            assert_eq!(of(file.as_fd(), bytes).unwrap(), [""; 0], "{bytes}");
        }
    }

    /// The data that a run leaves must not keep the next one away.
    #[test]
    fn random_data_has_no_signature() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mut data = vec![0; 1 << 20];
        let mut random = Seed::root(1).generator();
        for _ in 0..200 {
            rand::Rng::fill_bytes(&mut random, &mut data[..72 << 10]);
            file.write_all_at(&data[..72 << 10], 0).unwrap();
            assert_eq!(of(file.as_fd(), 1 << 20).unwrap(), [""; 0]);
        }
    }
}
