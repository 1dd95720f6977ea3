//! One function per package format.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::stage::{Stage, copy};
use super::{Made, TemplateValue, call, is_there, output, template};
use crate::workspace;

/// Oldest C library that packages say they run with: that of Debian 12 and Ubuntu 22.04.
const GLIBC: &str = "2.34";

/// `unforget-VERSION-TRIPLE.tar.gz`: everything in one folder.
pub(super) fn archive(stage: &Stage) -> anyhow::Result<Made> {
    let name = name_of(&stage.folder);
    let file = stage.out.join(format!("{name}.tar.gz"));
    call(Command::new("tar").arg("-czf").arg(&file).arg("-C").arg(&stage.out).arg(&name))?;
    Ok(Made::Files(vec![file]))
}

/// A Debian package.
pub(super) fn deb(stage: &Stage) -> anyhow::Result<Made> {
    if !is_there("dpkg-deb") {
        return Ok(Made::Left("dpkg-deb is missing".to_owned()));
    }
    let package = stage.out.join("deb");
    let places = [
        ("unforget", "usr/bin/unforget"),
        ("README.md", "usr/share/doc/unforget/README.md"),
        ("LICENSE-MIT", "usr/share/doc/unforget/copyright"),
        ("completions/unforget.bash", "usr/share/bash-completion/completions/unforget"),
        ("completions/_unforget", "usr/share/zsh/vendor-completions/_unforget"),
        ("completions/unforget.fish", "usr/share/fish/vendor_completions.d/unforget.fish"),
    ];
    for (from, to) in places {
        copy(&stage.folder.join(from), &package.join(to))?;
    }
    let unit = workspace::root().join("packaging/unforget.service");
    copy(&unit, &package.join("usr/lib/systemd/system/unforget.service"))?;
    for page in files_in(&stage.folder.join("man"))? {
        copy(&page, &package.join("usr/share/man/man1").join(name_of(&page)))?;
    }
    let kilobytes = (std::fs::metadata(stage.program())?.len() / 1_024).to_string();
    std::fs::create_dir_all(package.join("DEBIAN"))?;
    let values = [
        TemplateValue { name: "VERSION", text: &stage.version },
        TemplateValue { name: "ARCH", text: stage.target.debian },
        TemplateValue { name: "GLIBC", text: GLIBC },
        TemplateValue { name: "KILOBYTES", text: &kilobytes },
    ];
    template(&packaging("deb/control"), &package.join("DEBIAN/control"), &values)?;
    let file = stage.out.join(format!("unforget_{}_{}.deb", stage.version, stage.target.debian));
    let build = ["--root-owner-group", "-Zxz", "--build"];
    call(Command::new("dpkg-deb").args(build).arg(&package).arg(&file).stdout(std::process::Stdio::null()))?;
    std::fs::remove_dir_all(&package)?;
    Ok(Made::Files(vec![file]))
}

/// Two npm packages: the program of this platform, and the launcher that depends on it.
pub(super) fn npm(stage: &Stage) -> anyhow::Result<Made> {
    if !is_there("npm") {
        return Ok(Made::Left("npm is missing".to_owned()));
    }
    let platform = format!("{}-{}", stage.target.node_os, stage.target.node_cpu);
    let values = [
        TemplateValue { name: "VERSION", text: &stage.version },
        TemplateValue { name: "PLATFORM", text: &platform },
        TemplateValue { name: "OS", text: stage.target.node_os },
        TemplateValue { name: "CPU", text: stage.target.node_cpu },
    ];
    let mut files = Vec::new();
    for part in ["platform", "launcher"] {
        let package = stage.out.join("npm").join(part);
        std::fs::create_dir_all(&package)?;
        template(&packaging(&format!("npm/{part}/package.json")), &package.join("package.json"), &values)?;
        match part {
            "platform" => copy(&stage.program(), &package.join("unforget"))?,
            _ => copy(&packaging("npm/launcher/unforget.js"), &package.join("unforget.js"))?,
        }
        copy(&stage.folder.join("README.md"), &package.join("README.md"))?;
        let pack = ["pack", "--silent", "--pack-destination"];
        let packed = output(Command::new("npm").args(pack).arg(&stage.out).current_dir(&package))?;
        files.push(stage.out.join(packed.trim()));
    }
    std::fs::remove_dir_all(stage.out.join("npm"))?;
    Ok(Made::Files(files))
}

/// A Python wheel that holds the program and no Python.
pub(super) fn wheel(stage: &Stage) -> anyhow::Result<Made> {
    if !is_there("python3") {
        return Ok(Made::Left("python3 is missing".to_owned()));
    }
    let mut pack = Command::new("python3");
    pack.arg(packaging("pypi/wheel.py")).arg(stage.program()).arg(&stage.version);
    let packed = output(pack.arg(stage.folder.join("README.md")).arg(&stage.out))?;
    Ok(Made::Files(vec![PathBuf::from(packed.trim())]))
}

/// Writes `SHA256SUMS` over all packages, and returns its text.
pub(super) fn sums(stage: &Stage) -> anyhow::Result<String> {
    let names: Vec<String> =
        files_in(&stage.out)?.iter().filter(|path| path.is_file()).map(|path| name_of(path)).collect();
    let mut sum = if is_there("sha256sum") {
        Command::new("sha256sum")
    } else {
        let mut sum = Command::new("shasum");
        sum.args(["-a", "256"]);
        sum
    };
    let text = output(sum.args(names).current_dir(&stage.out))?;
    std::fs::write(stage.out.join("SHA256SUMS"), &text)?;
    Ok(text)
}

/// The installer script and the Homebrew formula, which download the archive.
///
/// * `sums` - the text of `SHA256SUMS`.
pub(super) fn by_download(stage: &Stage, url: &str, sums: &str) -> anyhow::Result<()> {
    let archive = format!("{}.tar.gz", name_of(&stage.folder));
    let sum = sums.lines().find_map(|line| line.strip_suffix(&archive)).context("the archive has no sum")?;
    let values = [
        TemplateValue { name: "VERSION", text: &stage.version },
        TemplateValue { name: "TRIPLE", text: &stage.target.triple },
        TemplateValue { name: "URL", text: url },
        TemplateValue { name: "SHA256", text: sum.trim() },
    ];
    for name in ["install.sh", "unforget.rb"] {
        template(&packaging(name), &stage.out.join(name), &values)?;
        println!("install           {}", stage.out.join(name).display());
    }
    Ok(())
}

fn packaging(below: &str) -> PathBuf {
    workspace::root().join("packaging").join(below)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files and folders of a folder, by name.
fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    let mut found = listed.map(|file| Ok(file?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}
