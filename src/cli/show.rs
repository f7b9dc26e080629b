//! `wlrun show`: a personality's text.

use super::exit::{self, Exit};
use super::{complain, library, print};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The personality
    name: String,
}

pub(super) fn run(args: &ShowArgs) -> Exit {
    match library::find(&args.name) {
        Ok(personality) => print(personality.text),
        Err(why) => {
            complain(&why);
            exit::USAGE
        }
    }
}
