//! Tables of lines, and what they were judged to be.

use std::fs;

use expect_test::{Expect, expect};

use super::*;

/// `@` is the folder the line would run in; programs are looked for in `/bin` of nowhere.
fn check(lines: &[&str], expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    fs::create_dir_all(cwd.join("src")).unwrap();
    for name in ["README.md", "notes.md", "src/main.rs", "src/lib.rs"] {
        fs::write(cwd.join(name), "").unwrap();
    }
    for folder in [".git/objects", ".git/refs"] {
        fs::create_dir_all(cwd.join(folder)).unwrap();
    }
    fs::write(cwd.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let surroundings = Surroundings {
        cwd: &cwd,
        home: Some(Path::new("/home/u")),
        programs: Programs::All,
        trusted: Trusted::Folder("/bin".into()),
    };
    let mut answers = String::new();
    for line in lines {
        let answer = match judge_in(line, &surroundings) {
            Ok(judged) => {
                let reads: Vec<String> = judged.reads.iter().map(|path| path.display().to_string()).collect();
                let reach =
                    if judged.reach == Reach::Named { String::new() } else { format!(" {:?}", judged.reach) };
                format!("{}\n    reads {}{reach}", judged.script, reads.join(" "))
            }
            Err(reason) => format!("! {reason}"),
        };
        let answer = answer.replace(&forced_of_git(&cwd), "(safe) git").replace(&*cwd.to_string_lossy(), "@");
        answers += &format!("{line:?}\n  {answer}\n");
    }
    expected.assert_eq(&answers);
}

fn forced_of_git(root: &Path) -> String {
    let mut script = git::environment(root).unwrap();
    quote("/bin/git", &mut script);
    for word in git::GLOBAL {
        script.push(' ');
        quote(word, &mut script);
    }
    script
}

#[test]
fn lines_become_scripts_in_which_every_word_is_quoted() {
    check(
        &[
            "ls",
            "cat README.md notes.md",
            "cat 'a b' \"c$\" d\\ e",
            "cat *.md src/*.rs",
            "ls -la | head -20; cat README.md && wc -l notes.md || stat src\nls src",
            "cat missing 2>&1 | grep -c x >/dev/null 2>/dev/null",
            "grep x < README.md",
            "ls >/dev/null -la",
            "ls \"$HOME\"",
            "grep -rn --include=*.rs fn .",
            "find ./* -name '*.rs' -newer README.md",
            "cat /dev/null",
            "ls \\\n  -la",
        ],
        expect![[r#"
            "ls"
              '/bin/ls'
                reads @
            "cat README.md notes.md"
              '/bin/cat' 'README.md' 'notes.md'
                reads @/README.md @/notes.md
            "cat 'a b' \"c$\" d\\ e"
              '/bin/cat' 'a b' 'c$' 'd e'
                reads @/a b @/c$ @/d e
            "cat *.md src/*.rs"
              '/bin/cat' 'README.md' 'notes.md' 'src/lib.rs' 'src/main.rs'
                reads @/README.md @/notes.md @/src/lib.rs @/src/main.rs
            "ls -la | head -20; cat README.md && wc -l notes.md || stat src\nls src"
              '/bin/ls' '-la' | '/bin/head' '-20'; '/bin/cat' 'README.md' && '/bin/wc' '-l' 'notes.md' || '/bin/stat' 'src'; '/bin/ls' 'src'
                reads @ @/README.md @/notes.md @/src
            "cat missing 2>&1 | grep -c x >/dev/null 2>/dev/null"
              '/bin/cat' 'missing' 2>&1 | '/bin/grep' '-c' 'x' >/dev/null 2>/dev/null
                reads @/missing
            "grep x < README.md"
              '/bin/grep' 'x' <'README.md'
                reads @/README.md
            "ls >/dev/null -la"
              '/bin/ls' '-la' >/dev/null
                reads @
            "ls \"$HOME\""
              '/bin/ls' '/home/u'
                reads /home/u
            "grep -rn --include=*.rs fn ."
              '/bin/grep' '-rn' '--include=*.rs' 'fn' '.'
                reads @ Below
            "find ./* -name '*.rs' -newer README.md"
              '/bin/find' './README.md' './notes.md' './src' '-name' '*.rs' '-newer' 'README.md'
                reads @/README.md @/notes.md @/src
            "cat /dev/null"
              '/bin/cat' '/dev/null'
                reads 
            "ls \\\n  -la"
              '/bin/ls' '-la'
                reads @
        "#]],
    );
}

#[test]
fn the_reach_says_whether_files_below_are_read() {
    check(
        &[
            "ls -R src",
            "grep -r x src",
            "grep -R x src",
            "rg x",
            "rg -L x src",
            "diff README.md notes.md",
            "diff src src",
            "git status -s",
            "git log --oneline -5",
            "git log -p",
            "git diff HEAD~1 -- src",
            "tree -L 2 src",
            "du -sh src",
            "find -L . -name x",
            "find . -follow -name x",
            "find -H src -name x",
            "ls -L src",
            "ls -LR src",
            "ls --dereference src",
            "du -L src",
            "tree -l src",
            "diff -r src src",
        ],
        expect![[r#"
            "ls -R src"
              '/bin/ls' '-R' 'src'
                reads @/src
            "grep -r x src"
              '/bin/grep' '-r' 'x' 'src'
                reads @/src Below
            "grep -R x src"
              '/bin/grep' '-R' 'x' 'src'
                reads @/src ThroughLinks
            "rg x"
              '/bin/rg' '--no-config' 'x'
                reads @ Below
            "rg -L x src"
              '/bin/rg' '--no-config' '-L' 'x' 'src'
                reads @/src ThroughLinks
            "diff README.md notes.md"
              '/bin/diff' 'README.md' 'notes.md'
                reads @/README.md @/notes.md
            "diff src src"
              '/bin/diff' 'src' 'src'
                reads @/src ThroughLinks
            "git status -s"
              (safe) git 'status' '--ignore-submodules=dirty' '-s'
                reads @
            "git log --oneline -5"
              (safe) git 'log' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' '--oneline' '-5'
                reads @
            "git log -p"
              (safe) git 'log' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' '-p'
                reads @ Below
            "git diff HEAD~1 -- src"
              (safe) git 'diff' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' 'HEAD~1' '--' 'src'
                reads @ @/src Below
            "tree -L 2 src"
              '/bin/tree' '-L' '2' 'src'
                reads @/src
            "du -sh src"
              '/bin/du' '-sh' 'src'
                reads @/src
            "find -L . -name x"
              '/bin/find' '-L' '.' '-name' 'x'
                reads @ ThroughLinks
            "find . -follow -name x"
              '/bin/find' '.' '-follow' '-name' 'x'
                reads @ ThroughLinks
            "find -H src -name x"
              '/bin/find' '-H' 'src' '-name' 'x'
                reads @/src
            "ls -L src"
              '/bin/ls' '-L' 'src'
                reads @/src ThroughLinks
            "ls -LR src"
              '/bin/ls' '-LR' 'src'
                reads @/src ThroughLinks
            "ls --dereference src"
              '/bin/ls' '--dereference' 'src'
                reads @/src ThroughLinks
            "du -L src"
              '/bin/du' '-L' 'src'
                reads @/src ThroughLinks
            "tree -l src"
              '/bin/tree' '-l' 'src'
                reads @/src ThroughLinks
            "diff -r src src"
              '/bin/diff' '-r' 'src' 'src'
                reads @/src ThroughLinks
        "#]],
    );
}

#[test]
fn every_program_of_the_list_has_its_uses() {
    check(
        &[
            "sort -rn -k2,2 README.md | uniq -c",
            "cut -d: -f1 README.md",
            "cat README.md | tr a-z A-Z",
            "diff -u README.md notes.md",
            "file README.md",
            "pwd; date -u +%Y-%m-%d; echo hello *.md",
            "tree -a -I target",
            "jq -r '.a | .b[]' README.md",
            "rg -n 'fn main' -g '*.rs' src",
            "git --no-pager show HEAD:src/main.rs",
            "git blame -L 1,5 src/main.rs",
            "git rev-parse --abbrev-ref HEAD",
            "git ls-files -m",
            "git log -S foo --since='2 weeks ago' --format='%h %s'",
            "git show HEAD@{1} --stat",
            "tail -n 3 *.log",
            "tail *; sort ?*.md",
            "echo \"---\"; echo ---; echo \"--- files ---\"; echo -x -n -- \"----------\"",
            "jq '.compilerOptions, .include, .items[0].env // empty' README.md",
            "grep \"foo$\\|bar$\" README.md",
            "git log -q --no-walk --notes --show-notes=x --encoding=UTF-8 HEAD",
            "git rev-parse --show-superproject-working-tree",
            "git ls-files *.md",
            "git ls-files -- '*.rs' 'src/**/*.ts' ':!docs'",
            "git log -L1,5:README.md",
            "cat README.md | tr [a-z] [A-Z]",
            "date -I; date -Iseconds -u",
        ],
        expect![[r#"
            "sort -rn -k2,2 README.md | uniq -c"
              '/bin/sort' '-rn' '-k2,2' 'README.md' | '/bin/uniq' '-c'
                reads @/README.md
            "cut -d: -f1 README.md"
              '/bin/cut' '-d:' '-f1' 'README.md'
                reads @/README.md
            "cat README.md | tr a-z A-Z"
              '/bin/cat' 'README.md' | '/bin/tr' 'a-z' 'A-Z'
                reads @ @/README.md
            "diff -u README.md notes.md"
              '/bin/diff' '-u' 'README.md' 'notes.md'
                reads @/README.md @/notes.md
            "file README.md"
              '/bin/file' 'README.md'
                reads @/README.md
            "pwd; date -u +%Y-%m-%d; echo hello *.md"
              '/bin/pwd' '-L'; '/bin/date' '-u' '+%Y-%m-%d'; '/bin/echo' 'hello' 'README.md' 'notes.md'
                reads @ @/README.md @/notes.md
            "tree -a -I target"
              '/bin/tree' '-a' '-I' 'target'
                reads @
            "jq -r '.a | .b[]' README.md"
              '/bin/jq' '-r' '.a | .b[]' 'README.md'
                reads @/README.md
            "rg -n 'fn main' -g '*.rs' src"
              '/bin/rg' '--no-config' '-n' 'fn main' '-g' '*.rs' 'src'
                reads @/src Below
            "git --no-pager show HEAD:src/main.rs"
              (safe) git '--no-pager' 'show' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' 'HEAD:src/main.rs'
                reads @ Below
            "git blame -L 1,5 src/main.rs"
              (safe) git 'blame' '--no-textconv' '-L' '1,5' 'src/main.rs'
                reads @ @/src/main.rs Below
            "git rev-parse --abbrev-ref HEAD"
              (safe) git 'rev-parse' '--abbrev-ref' 'HEAD'
                reads @
            "git ls-files -m"
              (safe) git 'ls-files' '-m'
                reads @
            "git log -S foo --since='2 weeks ago' --format='%h %s'"
              (safe) git 'log' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' '-S' 'foo' '--since=2 weeks ago' '--format=%h %s'
                reads @ Below
            "git show HEAD@{1} --stat"
              (safe) git 'show' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' 'HEAD@{1}' '--stat'
                reads @ Below
            "tail -n 3 *.log"
              '/bin/tail' '-n' '3' '*.log'
                reads @/*.log
            "tail *; sort ?*.md"
              '/bin/tail' 'README.md' 'notes.md' 'src'; '/bin/sort' 'README.md' 'notes.md'
                reads @/README.md @/notes.md @/src
            "echo \"---\"; echo ---; echo \"--- files ---\"; echo -x -n -- \"----------\""
              '/bin/echo' '---'; '/bin/echo' '---'; '/bin/echo' '--- files ---'; '/bin/echo' '-x' '-n' '--' '----------'
                reads 
            "jq '.compilerOptions, .include, .items[0].env // empty' README.md"
              '/bin/jq' '.compilerOptions, .include, .items[0].env // empty' 'README.md'
                reads @/README.md
            "grep \"foo$\\|bar$\" README.md"
              '/bin/grep' 'foo$\|bar$' 'README.md'
                reads @/README.md
            "git log -q --no-walk --notes --show-notes=x --encoding=UTF-8 HEAD"
              (safe) git 'log' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' '-q' '--no-walk' '--notes' '--show-notes=x' '--encoding=UTF-8' 'HEAD'
                reads @
            "git rev-parse --show-superproject-working-tree"
              (safe) git 'rev-parse' '--show-superproject-working-tree'
                reads @
            "git ls-files *.md"
              (safe) git 'ls-files' 'README.md' 'notes.md'
                reads @ @/README.md @/notes.md
            "git ls-files -- '*.rs' 'src/**/*.ts' ':!docs'"
              (safe) git 'ls-files' '--' '*.rs' 'src/**/*.ts' ':!docs'
                reads @
            "git log -L1,5:README.md"
              (safe) git 'log' '--no-ext-diff' '--no-textconv' '--ignore-submodules=dirty' '-L1,5:README.md'
                reads @ Below
            "cat README.md | tr [a-z] [A-Z]"
              '/bin/cat' 'README.md' | '/bin/tr' '[a-z]' '[A-Z]'
                reads @ @/README.md
            "date -I; date -Iseconds -u"
              '/bin/date' '-I'; '/bin/date' '-Iseconds' '-u'
                reads @
        "#]],
    );
}

#[test]
fn refusals_say_why() {
    check(
        &[
            "",
            "rm x",
            "./ls",
            "ls $(pwd)",
            "ls `pwd`",
            "cat <(ls)",
            "FOO=1 ls",
            "ls &",
            "(ls)",
            "! ls",
            "ls > out",
            "cat <<< x",
            "ls # comment",
            "ls ~",
            "ls $X",
            "ls {a,b}",
            "find . -delete",
            "find . -name *.rs",
            "find / -name x",
            "grep x",
            "cat",
            "cat -",
            "tail -f README.md",
            "uniq README.md out",
            "sort -o out README.md",
            "sort --outp=x README.md",
            "tree -Po x y",
            "jq -n env",
            "jq '$ENV.A' README.md",
            "date -s now",
            "date 01010000",
            "git push",
            "git -C src status",
            "git -c a=b status",
            "git log --output=x",
            "git log --format --output=x",
            "git rev-parse --help",
            "git diff /etc/passwd README.md",
            "git diff .. .",
            "git log -L1,5:.env",
            "git log -pL1,1:.env README.md",
            "git diff HEAD:id_rsa..HEAD:README.md",
            "git log -- '.en?'",
            "git show HEAD -- ':(glob).en?'",
            "date -Id 010100002030",
            "cat README.md | tr [a-z] [n]*",
            "git log '--format=%+G?'",
            "git log --format '%G?'",
            "git log --diff-merges=remerge",
            "date -d 'TZ=\"/tmp/fifo\" now'",
            "stat --printf '%200000000n' README.md",
            "date +%200000000d",
            "find . -printf '%200000000p'",
            "find . -newermt 'TZ=\"/tmp/fifo\" now'",
            "grep -rh '' /etc",
            "grep -r . /root",
            "rg x /home",
            "grep -r x --include=.env* .",
            "cat /etc/shadow-",
            "cat /etc/ssh/ssh_host_rsa_key",
            "git show HEAD:.env",
            "rg --pre evil x",
            "grep -r x /",
            "l''s",
            ">/dev/null",
        ],
        expect![[r#"
            ""
              ! there is no command in it
            "rm x"
              ! `rm` is not on the list of programs that change nothing
            "./ls"
              ! `./ls` is not a program of the system's folders
            "ls $(pwd)"
              ! it has the output of another command
            "ls `pwd`"
              ! it has the output of another command
            "cat <(ls)"
              ! it has the output of another command
            "FOO=1 ls"
              ! it has an assignment
            "ls &"
              ! it has a command in the background
            "(ls)"
              ! it has a group of commands
            "! ls"
              ! it has a test
            "ls > out"
              ! it redirects to `out`; only /dev/null and stdout or stderr may be written
            "cat <<< x"
              ! it has a here-document
            "ls # comment"
              ! it has a comment
            "ls ~"
              ! it has a `~`, which the shell would expand
            "ls $X"
              ! it has an expansion
            "ls {a,b}"
              ! it has braces, which the shell may expand
            "find . -delete"
              ! `find -delete` is not on the list
            "find . -name *.rs"
              ! it has a pattern among the tests of `find` that is not quoted
            "find / -name x"
              ! it searches the whole file system; add -maxdepth 3
            "grep x"
              ! `grep` would wait for input that nobody gives
            "cat"
              ! `cat` would wait for input that nobody gives
            "cat -"
              ! `cat` would wait for input that nobody gives
            "tail -f README.md"
              ! `tail -f` is not on the list
            "uniq README.md out"
              ! `uniq` with 2 operands is not on the list
            "sort -o out README.md"
              ! `sort -o` is not on the list
            "sort --outp=x README.md"
              ! `sort --outp` is not on the list
            "tree -Po x y"
              ! `tree` with a value right behind `-P` is not on the list
            "jq -n env"
              ! `env` in a filter of `jq` reads more than its input
            "jq '$ENV.A' README.md"
              ! `ENV` in a filter of `jq` reads more than its input
            "date -s now"
              ! `date -s` is not on the list
            "date 01010000"
              ! an operand of `date` is not on the list
            "git push"
              ! `git push` is not on the list
            "git -C src status"
              ! `git -C` is not on the list
            "git -c a=b status"
              ! `git -c` is not on the list
            "git log --output=x"
              ! `git log --output` is not on the list
            "git log --format --output=x"
              ! the value of `format` may be taken for an option
            "git rev-parse --help"
              ! `git rev-parse --help` is not on the list
            "git diff /etc/passwd README.md"
              ! `git diff` with `/etc/passwd`, outside of the repository, is not on the list
            "git diff .. ."
              ! `git diff` with `..`, outside of the repository, is not on the list
            "git log -L1,5:.env"
              ! `.env` may hold credentials (`.env`)
            "git log -pL1,1:.env README.md"
              ! `.env` may hold credentials (`.env`)
            "git diff HEAD:id_rsa..HEAD:README.md"
              ! `id_rsa` may hold credentials (`id_rsa`)
            "git log -- '.en?'"
              ! `.en?` also matches files with credentials (`.env`)
            "git show HEAD -- ':(glob).en?'"
              ! `.en?` also matches files with credentials (`.env`)
            "date -Id 010100002030"
              ! `date -I` is not on the list
            "cat README.md | tr [a-z] [n]*"
              ! `[n]*` matches files here; quote it
            "git log '--format=%+G?'"
              ! `git log` with `%+G?` for `format` is not on the list
            "git log --format '%G?'"
              ! `git log` with `%G?` for `format` is not on the list
            "git log --diff-merges=remerge"
              ! `git log` with `remerge` for `diff-merges` is not on the list
            "date -d 'TZ=\"/tmp/fifo\" now'"
              ! `date` with `TZ="/tmp/fifo" now` for `d` is not on the list
            "stat --printf '%200000000n' README.md"
              ! `stat` with `%200000000n` for `printf` is not on the list
            "date +%200000000d"
              ! an operand of `date` is not on the list
            "find . -printf '%200000000p'"
              ! `find -printf` with so wide a field is not on the list
            "find . -newermt 'TZ=\"/tmp/fifo\" now'"
              ! `find -newermt` with a time zone is not on the list
            "grep -rh '' /etc"
              ! `grep` would go through a folder with credentials
            "grep -r . /root"
              ! `grep` would go through a folder with credentials
            "rg x /home"
              ! `rg` would go through a folder with credentials
            "grep -r x --include=.env* ."
              ! it looks for credentials (`.env`)
            "cat /etc/shadow-"
              ! `/etc/shadow-` may hold credentials (`shadow-`)
            "cat /etc/ssh/ssh_host_rsa_key"
              ! `/etc/ssh/ssh_host_rsa_key` may hold credentials (`ssh_host_*_key`)
            "git show HEAD:.env"
              ! `.env` may hold credentials (`.env`)
            "rg --pre evil x"
              ! `rg --pre` is not on the list
            "grep -r x /"
              ! `grep` would go through the whole file system
            "l''s"
              ! the program's name is not written plainly
            ">/dev/null"
              ! there is a redirection without a command
        "#]],
    );
}

#[test]
fn programs_are_only_those_asked_for_and_installed() {
    let judge_few = |command| {
        let surroundings = Surroundings {
            cwd: Path::new("/"),
            home: None,
            programs: Programs::Few,
            trusted: Trusted::Assumed,
        };
        judge_in(command, &surroundings).is_ok()
    };
    assert!(judge_few("ls"));
    assert!(!judge_few("git status"));
    assert!(!judge_few("ls \"$HOME\""));
    assert!(judge("ls", Path::new("/usr")).is_ok());
    assert!(judge("/bin/ls", Path::new("/usr")).is_ok());
}

/// In a conversation it is asked about; here nobody is.
#[test]
fn without_a_user_no_walk_follows_links() {
    let judge_by = |command, programs| {
        let surroundings =
            Surroundings { cwd: Path::new("/usr"), home: None, programs, trusted: Trusted::Assumed };
        judge_in(command, &surroundings)
    };
    for command in [
        "grep -R x share",
        "grep --dereference-recursive x share",
        "find -L share -name x",
        "find -L -P share -name x",
        "find share -follow -name x",
        "find -L share -maxdepth 4",
        "ls -LR share",
        "ls --recursive --dereference share",
    ] {
        assert!(judge_by(command, Programs::Few).is_err(), "{command}");
        assert_eq!(judge_by(command, Programs::All).map(|judged| judged.reach), Ok(Reach::ThroughLinks));
    }
    for command in
        ["grep -r x share", "find -H share", "find -L share -maxdepth 2", "ls -R share", "ls -L share"]
    {
        assert!(judge_by(command, Programs::Few).is_ok(), "{command}");
    }
}

#[test]
fn removals_are_rm_and_nothing_else() {
    let names = |line: &str| super::removals(line).map(|names| names.join(" "));
    assert_eq!(names("rm /m/a.md").as_deref(), Some("/m/a.md"));
    assert_eq!(
        names("rm -f '/m/a b.md' /m/c.md && rm -- /m/d.md").as_deref(),
        Some("/m/a b.md /m/c.md /m/d.md")
    );
    assert_eq!(names("rm /m/a.md 2>/dev/null; rm /m/b.md").as_deref(), Some("/m/a.md /m/b.md"));
    for line in [
        "rm -r /m",
        "rm -rf /m/a.md",
        "rm /m/*.md",
        "rm",
        "rm -f",
        "rm /m/a.md | cat",
        "rm /m/a.md || true",
        "rm $(ls)",
        "rm $HOME/a.md",
        "ls; rm /m/a.md",
        "sudo rm /m/a.md",
        "rm /m/a.md > /m/b.md",
        "rm /m/a.md &",
        "X=1 rm /m/a.md",
        "rm --no-preserve-root /",
        "rm `ls`",
        "rm /m/{a,b}.md",
        "rm ~/a.md",
        "rm < /m/a.md",
        "xargs rm /m/a.md",
        "/bin/rm /m/a.md",
        "rm\n-r /m",
    ] {
        assert_eq!(names(line), None, "{line}");
    }
}
