package nginx

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape writes a tree on one line: a(arg|arg){...}.
func shape(list []*Directive) string {
	var b strings.Builder
	for i, d := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(d.Name)
		if len(d.Args) > 0 {
			var args []string
			for _, a := range d.Args {
				args = append(args, a.Text)
			}
			b.WriteString("(" + strings.Join(args, "|") + ")")
		}
		if d.HasBlock {
			b.WriteString("{" + d.Lua + shape(d.Block) + "}")
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"simple", "user www;", "user(www)"},
		{"block", "events { worker_connections 1; }", "events{worker_connections(1)}"},
		{"over lines", "a\n\tb # c\n d;", "a(b|d)"},
		{"quotes", `a "b;{}#c" 'd"e';`, `a(b;{}#c|d"e)`},
		{"quote inside a word", `a b"c d";`, `a(b"c|d")`},
		{"escaped quote", `a "b\"c" 'd\'e' f\;g;`, `a(b"c|d'e|f\;g)`},
		{"escapes", `a "\t\n\\\d";`, "a(\t\n\\\\d)"},
		{"braced variable", "a ${b}c;", "a(${b}c)"},
		{"hash in a word", "a b#c;", "a(b#c)"},
		{"brace closes only at the start of a word", "a b}c;", "a(b}c)"},
		{"adjacent words", "a'b' 'c';", "a'b'(c)"},
		{"if with quotes", `if ($a = "b") { return 403; }`, `if(($a|=|b|)){return(403)}`},
		{"map with regex", `map $a $b { "~^\{x" 1; default 0; }`, `map($a|$b){~^\{x(1) default(0)}`},
		{"location escape", `location ~ ^/x\{2\}$ { }`, `location(~|^/x\{2\}$){}`},
		{"windows line ends", "a b;\r\nc;\r\n", "a(b) c"},
		{"byte order mark", "\ufeffa b;", "a(b)"},
		{"lua", `content_by_lua_block { local s = "}" -- it's }` + "\n" + `t = { [[}]], '\'}' } --[==[ } ]==]` + "\n} a;", "content_by_lua_block{ local s = \"}\" -- it's }\nt = { [[}]], '\\'}' } --[==[ } ]==]\n} a"},
		{"lua with argument", "set_by_lua_block $a { return 1 }", "set_by_lua_block($a){ return 1 }"},
		{"empty", " # nothing\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Parse("x", test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, shape(f.Directives)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a b", `x:1:3: unexpected end of file, expecting ";" or "}"`},
		{"a b ", `x:1:5: unexpected end of file, expecting ";" after "a"`},
		{"a {", `x:1:4: unexpected end of file, expecting "}" of the a at line 1`},
		{"a;\n }", `x:2:2: unexpected "}"`},
		{";", `x:1:1: unexpected ";"`},
		{"a { { } }", `x:1:5: unexpected "{"`},
		{"a { b }", `x:1:7: unexpected "}": directive "b" is not terminated by ";"`},
		{`a "b"c;`, `x:1:6: unexpected "c"`},
		{`a "b`, `x:1:3: unexpected end of file, expecting ";" or "}"`},
		{"a_by_lua_block { '", `x:1:16: unexpected end of file, expecting "}" at the end of a Lua block`},
		{strings.Repeat("a{", 100), `x:1:129: blocks nest deeper than 64`},
	} {
		_, err := Parse("x", test.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || err.Error() != test.want {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

func TestPositions(t *testing.T) {
	f, err := Parse("x", "a;\n# first\n  b \"c\" {\n\td e; # second\n  }\n")
	if err != nil {
		t.Fatal(err)
	}
	b := f.Directives[1]
	d := b.Block[0]
	got := fmt.Sprint(b.Pos, b.Args[0].Pos, d.Pos, d.Args[0].Pos, " ", b.EndLine, " ", b.Source(), "|", d.Source(), "|", f.Line(4))
	if want := "x:3:3 x:3:5 x:4:2 x:4:4 5 b \"c\" {|d e;|\td e; # second"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want := []Comment{{"first", Pos{"x", 2, 1, 3}, true}, {"second", Pos{"x", 4, 7, 27}, false}}
	if diff := cmp.Diff(want, f.Comments); diff != "" {
		t.Error(diff)
	}
}

// sample uses every form of the grammar.
const sample = "user www;\nhttp { map $a $b { \"~x\" 'y\\'z'; }\n set_by_lua_block $x { return '}' }\n server { if ($a = \"b\") { return ${c}; } } # end\n}\n"

func TestEveryPrefix(t *testing.T) {
	for n := range sample {
		f, err := Parse("x", sample[:n])
		if err == nil && strings.Count(sample[:n], "{") > 0 && n < strings.LastIndex(sample, "}") {
			t.Errorf("prefix of %d bytes parsed: %s", n, shape(f.Directives))
		}
	}
	if _, err := Parse("x", sample); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("a \"b\" c\\;d;")
	f.Add("listen [::]:443 ssl; server { listen 1-9; }")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("x", text)
		if err != nil {
			return
		}
		for _, d := range file.Directives {
			d.Walk(func(d *Directive) bool {
				if d.Pos.Offset >= d.End || d.End > len(text) || !strings.HasPrefix(text[d.Pos.Offset:], d.Source()[:1]) {
					t.Fatalf("%s: bad range %d..%d", d.Name, d.Pos.Offset, d.End)
				}
				return true
			})
		}
		Interpret(&Config{Main: file.Directives, Files: []*File{file}}, Version{1, 22, 1}).TLSServers()
	})
}

// nginxTest runs nginx -t on a configuration and returns what it printed and whether it accepts it.
func nginxTest(t *testing.T, path string) (string, bool) {
	t.Helper()
	b, err := Installed(t.Context())
	if err != nil {
		t.Skipf("needs nginx as the oracle (apt install nginx): %v", err)
	}
	out, err := exec.Command(b.Path, "-t", "-p", filepath.Dir(path), "-c", path).CombinedOutput()
	return string(out), err == nil
}

// TestTokensAsNginx feeds random tokens to nginx and to Parse inside types{}, where nginx takes any two words for a
// statement, and wants the same verdict.
func TestTokensAsNginx(t *testing.T) {
	pieces := []string{"a", "b", " ", " ", "\n", ";", ";", "'", `"`, `\`, "#", "{", "}", "$", "${", ")", "'x' ", `"y;" `, "c d;", "e f;\n"}
	random := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "nginx.conf")
	accepted, refused := 0, 0
	for range 400 {
		var b strings.Builder
		for range 1 + random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := "pid x.pid; error_log stderr; events {} http { access_log off; types { " + b.String() + "\n} }\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, ok := nginxTest(t, path)
		_, err := Parse(path, text)
		switch {
		case ok && err != nil:
			t.Errorf("nginx accepts %q but: %v", b.String(), err)
		case strings.Contains(out, "unexpected ") && err == nil:
			t.Errorf("nginx refuses %q: %s", b.String(), out)
		case ok:
			accepted++
		default:
			refused++
		}
	}
	t.Logf("%d accepted by both, %d refused by nginx", accepted, refused)
	if accepted < 40 || refused < 40 {
		t.Errorf("%d accepted and %d refused prove little", accepted, refused)
	}
}
