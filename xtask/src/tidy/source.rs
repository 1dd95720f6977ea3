//! The parsed source of the product, without its tests.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::Problem;
use crate::workspace::File;

/// One source file of a crate, with everything that the rules ask about.
pub(super) struct Source<'a> {
    /// Path relative to the root.
    pub(super) path: &'a str,
    /// Name of the crate's folder.
    pub(super) owner: &'a str,
    /// Declared types.
    pub(super) types: Vec<TypeName>,
    /// Lines of functions with a tuple-typed parameter.
    pub(super) tupled: Vec<Mention>,
    /// Paths in code, with `use` lists written out: `std::fs::read`.
    pub(super) paths: Vec<Mention>,
    /// The paths of `use` among them.
    pub(super) imported: Vec<Mention>,
    /// The paths of `pub use` among them, with any restriction.
    pub(super) passed_on: Vec<Mention>,
    /// String literals.
    pub(super) literals: Vec<Mention>,
    /// Types that are built by naming their fields.
    pub(super) built: Vec<Mention>,
    /// Traits that public types derive.
    pub(super) derived: Vec<Mention>,
}

/// The name of a declared struct, enum, trait or alias.
pub(super) struct TypeName {
    pub(super) name: String,
    pub(super) line: usize,
    /// Declared `pub`, without a restriction.
    pub(super) public: bool,
}

/// A piece of code and its line.
#[derive(Clone)]
pub(super) struct Mention {
    pub(super) text: String,
    pub(super) line: usize,
}

/// Parses the sources of all crates. Tests, benches and examples are left out.
pub(super) fn parse(files: &[File]) -> (Vec<Source<'_>>, Vec<Problem>) {
    let (mut sources, mut problems) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| is_product(file)) {
        let owner = file.path.split('/').nth(1).unwrap_or_default();
        match syn::parse_file(&file.text) {
            Ok(syntax) => sources.push(Source::new(&file.path, owner, &syntax)),
            Err(error) => problems.push(format!(
                "{}:{}: cannot be parsed: {error}",
                file.path,
                error.span().start().line
            )),
        }
    }
    (sources, problems)
}

fn is_product(file: &File) -> bool {
    let inside = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
    let is_test = |path: &str| path.ends_with("tests.rs") || path.split('/').any(|folder| folder == "tests");
    file.is("rs") && inside.is_some_and(|(_, path)| !is_test(path))
}

impl<'a> Source<'a> {
    fn new(path: &'a str, owner: &'a str, syntax: &syn::File) -> Source<'a> {
        let mut source = Source {
            path,
            owner,
            types: Vec::new(),
            tupled: Vec::new(),
            paths: Vec::new(),
            imported: Vec::new(),
            passed_on: Vec::new(),
            literals: Vec::new(),
            built: Vec::new(),
            derived: Vec::new(),
        };
        source.visit_file(syntax);
        source
    }

    fn declare(&mut self, name: &syn::Ident, visibility: &syn::Visibility) {
        let public = matches!(visibility, syn::Visibility::Public(_));
        self.types.push(TypeName { name: name.to_string(), line: name.span().start().line, public });
    }

    /// Notes the traits that a public type derives.
    fn derive(&mut self, visibility: &syn::Visibility, attributes: &[syn::Attribute]) {
        if !matches!(visibility, syn::Visibility::Public(_)) {
            return;
        }
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
            let begin = self.paths.len();
            self.visit_attribute(attribute);
            self.derived.extend(self.paths.split_off(begin));
        }
    }

    /// Paths and literals of code that is not parsed: arguments of macros and of attributes.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Option<Mention> = None;
        let mut colons = 0;
        for token in tokens {
            let line = token.span().start().line;
            match token {
                TokenTree::Ident(name) => match path.as_mut().filter(|_| colons == 2) {
                    Some(path) => path.text = format!("{}::{name}", path.text),
                    None => self.paths.extend(path.replace(Mention { text: name.to_string(), line })),
                },
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    self.literals.push(Mention { text: literal.to_string(), line });
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Punct(_) => self.paths.extend(path.take()),
            }
            colons = 0;
        }
        self.paths.extend(path);
    }

    fn imports(&mut self, before: &str, tree: &syn::UseTree) {
        let mut add = |name: &syn::Ident| {
            let (text, line) = (join(before, name), name.span().start().line);
            self.paths.push(Mention { text, line });
        };
        match tree {
            syn::UseTree::Path(path) => self.imports(&join(before, &path.ident), &path.tree),
            syn::UseTree::Name(name) => add(&name.ident),
            syn::UseTree::Rename(name) => add(&name.ident),
            syn::UseTree::Glob(_) => {
                self.paths.push(Mention { text: before.to_string(), line: tree.span().start().line });
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.imports(before, tree)),
        }
    }
}

fn join(before: &str, name: &syn::Ident) -> String {
    if before.is_empty() { name.to_string() } else { format!("{before}::{name}") }
}

fn written(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    names.join("::")
}

/// Whether an item is compiled for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => {
            let mut words = list.tokens.clone().into_iter();
            list.path.is_ident("cfg")
                && words.next().is_some_and(|word| matches!(word, TokenTree::Ident(word) if word == "test"))
        }
        syn::Meta::NameValue(_) => false,
    })
}

impl<'ast> Visit<'ast> for Source<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declare(&item.ident, &item.vis);
        self.derive(&item.vis, &item.attrs);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.declare(&item.ident, &item.vis);
        self.derive(&item.vis, &item.attrs);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.declare(&item.ident, &item.vis);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.declare(&item.ident, &item.vis);
        visit::visit_item_type(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let tupled = |argument: &syn::FnArg| match argument {
            syn::FnArg::Typed(argument) => {
                matches!(&*argument.ty, syn::Type::Tuple(of) if !of.elems.is_empty())
            }
            syn::FnArg::Receiver(_) => false,
        };
        if signature.inputs.iter().any(tupled) {
            let name = &signature.ident;
            self.tupled.push(Mention { text: name.to_string(), line: name.span().start().line });
        }
        visit::visit_signature(self, signature);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let begin = self.paths.len();
        self.imports("", &item.tree);
        if matches!(item.vis, syn::Visibility::Inherited) {
            self.imported.extend(self.paths.iter().skip(begin).cloned());
        } else {
            self.passed_on.extend(self.paths.iter().skip(begin).cloned());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(Mention { text: written(path), line: path.span().start().line });
        visit::visit_path(self, path);
    }

    fn visit_expr_struct(&mut self, built: &'ast syn::ExprStruct) {
        let line = built.path.span().start().line;
        self.built
            .extend(built.path.segments.last().map(|name| Mention { text: name.ident.to_string(), line }));
        visit::visit_expr_struct(self, built);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.literals.push(Mention { text: literal.value(), line: literal.span().start().line });
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(mentions: &[Mention]) -> Vec<&str> {
        mentions.iter().map(|mention| mention.text.as_str()).collect()
    }

    #[test]
    fn a_source_is_read_without_its_tests() {
        let text = "use std::{fs, io::Read as _};\n#[derive(Clone, serde::Serialize)]\npub struct Cut;\n\
                    enum Kind { A }\nfn f(a: (u8, u8), b: ()) { log!(\"x {}\", std::env::var(b)); Cut { a } }\n\
                    #[cfg(test)]\nmod tests { struct Toy; fn g(a: (u8, u8)) {} }\n#[test]\nfn h() { struct Other; }\n";
        let file = File { path: "crates/a/src/lib.rs".to_string(), text: text.to_string() };
        let (sources, problems) = parse(std::slice::from_ref(&file));
        assert_eq!(problems, Vec::<Problem>::new());
        let [source] = sources.as_slice() else { panic!("one source") };
        let types: Vec<_> = source.types.iter().map(|of| (of.name.as_str(), of.line, of.public)).collect();
        assert_eq!(types, [("Cut", 3, true), ("Kind", 4, false)]);
        assert_eq!(texts(&source.tupled), ["f"]);
        assert_eq!(texts(&source.built), ["Cut"]);
        assert_eq!(texts(&source.literals), ["\"x {}\""]);
        let paths = texts(&source.paths);
        for want in ["std::fs", "std::io::Read", "serde::Serialize", "std::env::var"] {
            assert!(paths.contains(&want), "{want}: {paths:?}");
        }
    }

    #[test]
    fn only_sources_of_crates_are_read() {
        let table = [
            ("crates/a/src/lib.rs", true),
            ("crates/a/src/b/tests.rs", false),
            ("crates/a/src/b/tests/c.rs", false),
            ("crates/a/tests/all/main.rs", false),
            ("crates/a/src/words.txt", false),
            ("xtask/src/main.rs", false),
        ];
        for (path, want) in table {
            assert_eq!(is_product(&File { path: path.to_string(), text: String::new() }), want, "{path}");
        }
        let broken = File { path: "crates/a/src/lib.rs".to_string(), text: "fn".to_string() };
        assert_eq!(parse(&[broken]).1.len(), 1);
    }
}
