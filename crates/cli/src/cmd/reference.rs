//! `cutap __reference`: prints a generated page of `docs/reference`, for `cargo xtask codegen`.

mod command_line_page;

use crate::command_line;
use crate::stdout::print;
use cutap_collect::Result;
use cutap_report::{json_lines_page, json_schema, messages_page, tables_page};

#[derive(Debug, clap::Args)]
pub struct Reference {
    page: Page,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Page {
    CommandLine,
    Messages,
    JsonLines,
    JsonSchema,
    Tables,
}

impl Reference {
    pub fn run(self) -> Result<()> {
        print(&match self.page {
            Page::CommandLine => command_line_page::write(command_line::command()),
            Page::Messages => messages_page(),
            Page::JsonLines => json_lines_page(),
            Page::JsonSchema => json_schema(),
            Page::Tables => tables_page(),
        })
    }
}
