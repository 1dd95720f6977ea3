# Homebrew formula of unforget, made by `cargo xtask dist --url`.
class Unforget < Formula
  desc "Lossless context engine for LLM agents"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
  url "@URL@/unforget-@VERSION@-@TRIPLE@.tar.gz"
  sha256 "@SHA256@"

  def install
    bin.install "unforget"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/unforget.bash" => "unforget"
    zsh_completion.install "completions/_unforget"
    fish_completion.install "completions/unforget.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/unforget --version")
  end
end
