use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(html: &str, expected: Expect) {
    let page = convert(html, &Url::parse("https://h.example/docs/page").unwrap(), 100_000);
    expected.assert_eq(&page.markdown);
}

#[test]
fn a_usual_page() {
    let html = r##"<!DOCTYPE html><html><head><title> A
        title </title><style>p { color: red }</style><script>if (a < b) alert("</p>")</script></head>
        <body><nav><a href="/">Home</a></nav>
        <main><h1>Hello&nbsp;&amp; <em>welcome</em></h1>
        <p>Some   <b>bold</b> words, <a href="../x?a=1&amp;b=2">a link</a>,
           <code>code</code> and <a href="#here">no link</a>.<br>Next line</p>
        <ul><li>one</li><li>two<ul><li>inner</li><li><p>with p</p></li></ul></li><li>three</ul>
        <ol start="3"><li>c<li>d</ol>
        <blockquote><p>quoted</p><p>twice</p></blockquote>
        <pre><code class="hljs language-rust">fn main() {
    println!("&lt;hi&gt;");
}
</code></pre>
        <hr><img src="/a.png" alt="a picture"><img src="data:image/png;base64,xx" alt="">
        <table><thead><tr><th>Name</th><th>Age</th></tr></thead>
        <tbody><tr><td>Ada</td><td>36</td></tr><tr><td></td><td>x</td></tr></tbody></table>
        <div hidden>not this</div><div style="display: none">nor this</div><p>end</p>
        </main></body></html>"##;
    let page = convert(html, &Url::parse("https://h.example/docs/page").unwrap(), 100_000);
    assert_eq!(page.title.as_deref(), Some("A title"));
    assert!(!page.cut);
    expect![[r##"
        # Hello & *welcome*

        Some **bold** words, [a link](https://h.example/x?a=1&b=2), `code` and no link.
        Next line

        - one
        - two
          - inner
          - with p
        - three

        3. c
        4. d

        > quoted
        >
        > twice

        ```rust
        fn main() {
            println!("<hi>");
        }
        ```

        ---

        ![a picture](https://h.example/a.png)

        | Name | Age |
        | --- | --- |
        | Ada | 36 |
        | | x |

        end"##]]
    .assert_eq(&page.markdown);
}

#[test]
fn links_and_marks_hold_no_white_space_and_vanish_when_empty() {
    check("a<b> b </b>c", expect!["a **b** c"]);
    check("<a href='/x'> <b> t </b> </a>u", expect!["[**t**](https://h.example/x) u"]);
    check("<a href='/x'><img src='i.png' alt=''></a><b></b>x", expect!["x"]);
    check("<a href='javascript:x()'>click</a> <a>none</a>", expect!["click none"]);
    check(
        "<a href='/card'><h3>Title</h3><p>words</p></a>",
        expect![[r#"
        ### Title

        words (https://h.example/card)"#]],
    );
    check(
        "<b>one<p>two</p></b>",
        expect![[r#"
        one

        two"#]],
    );
    check("<i><b>wrong</i></b> order", expect!["*wrong* order"]);
}

#[test]
fn odd_html_is_still_read() {
    check("just text", expect!["just text"]);
    check("", expect![""]);
    check(
        "<li>no list<li>still none",
        expect![[r#"
        - no list
        - still none"#]],
    );
    check(
        "<blockquote><li>quoted <h2>heading</h2></blockquote>",
        expect![[r#"
        > - quoted
        >
        > ## heading"#]],
    );
    check("</ul></blockquote></a></b></td></tr>x", expect!["x"]);
    check(
        "<p>a<p>b<div>c<div>d",
        expect![[r#"
        a

        b
        c
        d"#]],
    );
    check(
        "<pre>never closed\n  text",
        expect![[r#"
        ```
        never closed
          text
        ```"#]],
    );
    check(
        "<ul><li><pre>a\n\nb</pre>after</ul>",
        expect![[r#"
        - ```
          a
  
          b
          ```

          after"#]],
    );
    check(
        "<pre>```\ninner\n```</pre>",
        expect![[r#"
        ````
        ```
        inner
        ```
        ````"#]],
    );
    check("<nav>only <b>this</b></nav>", expect!["only **this**"]);
    check(
        "<div aria-hidden=true>never closed <p>text",
        expect![[r#"
        never closed

        text"#]],
    );
    check("1 < 2 && 3 > 2 &unknown; &#x41; <", expect!["1 < 2 && 3 > 2 &unknown; A <"]);
    check("<td>cell</td><td>without a table</td>", expect!["| cell | without a table"]);
    check("<base href='https://other.example/'><a href='p'>t</a>", expect!["[t](https://other.example/p)"]);
}

#[test]
fn depth_and_size_are_bounded() {
    let base = Url::parse("https://h.example/").unwrap();
    for open in [
        "<ul><li>x",
        "<blockquote>x",
        "<b>x",
        "<a href=x>y",
        "<table><tr><td>x",
        "<div>x",
        "<pre>x",
        "<",
        "<a ",
        "<!--",
        "&",
        "</",
    ] {
        let html = open.repeat(100_000 / open.len());
        let page = convert(&html, &base, 100_000);
        assert!(page.markdown.len() <= 450_000, "{open}: {}", page.markdown.len());
    }
    let page = convert(&"<p>word".repeat(100_000), &base, 1_000);
    assert!(page.cut && page.markdown.len() < 5_000);
}
