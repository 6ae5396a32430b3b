// Package nginx reads nginx configuration text into a tree with positions and works out what nginx would make of it:
// which value of a directive is in force in a block, which sockets are opened, and which server answers first on each.
// It holds no opinions; package lint does.
//
// # Words
//
//   - Directive: one statement, simple (ends in ;) or with a block. Arguments are unquoted and unescaped as nginx does it.
//   - Config: a main file and everything it includes, in the order nginx reads it.
//   - Setting: the value of one directive in force in one block, and the level it came from.
//   - Socket: one address and port, with its servers and the default one.
//
// # Invariants
//
//   - What nginx 1.22 accepts parses. The reverse does not hold: values are not checked here, only form.
//   - Lines and columns count from 1; columns are bytes.
//   - Files are never written.
//
// # Why there is a parser here
//
// tufanbarisyildirim/gonginx (as of February 2026) was tried first. It keeps no column, gives a directive the line of its
// last token, ends at a stray "}" and silently drops the rest of the file, splits at an escaped semicolon, takes a
// backtick for a quote, and lexes Lua as nginx text so that a brace or a lone quote in a Lua string or comment breaks it.
// The grammar is ngx_conf_read_token, some fifty lines of C, so it is written out here instead.
package nginx
