package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// forms are the ways in which texts write a secret down: as it is, in the quotes of languages, in URLs.
func forms(secret string) []string {
	all := []string{secret, html.EscapeString(secret), strings.ReplaceAll(secret, "'", `'\''`), strings.ReplaceAll(secret, "'", "''")}
	for _, once := range quoted(secret) {
		all = append(all, once)
		all = append(all, quoted(once)...) // a line of JSON in a line of JSON
	}
	var x bytes.Buffer
	if xml.EscapeText(&x, []byte(secret)) == nil {
		all = append(all, x.String())
	}
	all = append(all, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(secret))
	q := strconv.Quote(secret)
	all = append(all, strings.NewReplacer(`\x00`, `\0`, `\x1b`, `\e`).Replace(q[1:len(q)-1])) // YAML's own
	query := url.QueryEscape(secret)
	for _, u := range []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(secret), strings.TrimPrefix(url.UserPassword("", secret).String(), ":")} {
		all = append(all, u, lowerHex(u))
	}
	return all
}

func quoted(s string) []string {
	q, ascii := strconv.Quote(s), strconv.QuoteToASCII(s)
	all := []string{q[1 : len(q)-1], ascii[1 : len(ascii)-1]}
	for _, escape := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		if e.Encode(s) == nil {
			q := strings.TrimSuffix(b.String(), "\n")
			all = append(all, q[1:len(q)-1])
		}
	}
	return all
}

var hex = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerHex(s string) string { return hex.ReplaceAllStringFunc(s, strings.ToLower) }

// cores are what of a secret is in every base64 text that has it in it, whatever stands before and after it there: one for
// each place in three that it may begin at.
func cores(secret string) []string {
	var all []string
	for before := range 3 {
		from := (before*8 + 5) / 6           // the first character that is of the secret alone
		to := (before + len(secret)) * 8 / 6 // and the first that is not
		text := make([]byte, before, before+len(secret))
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			core := e.EncodeToString(append(text, secret...))[from:to]
			if len(core) < shortest {
				continue
			}
			q := url.QueryEscape(core)
			all = append(all, core, q, lowerHex(q))
		}
	}
	return all
}
