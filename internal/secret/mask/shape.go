package mask

import (
	"regexp"
	"slices"
	"strings"
)

// secretKeys end the names of what has a secret as its value.
const secretKeys = `password|passwd|passphrase|token|client[-_]?secret|secret[-_]?key|private[-_]?key|api[-_]?key|access[-_]?key|certificate[-_]key|` +
	`client-key-data|client-certificate-data|session[-_]?id|session[-_]?key|soap_session|authorization|cookie`

// The shapes. All keep what stands before the secret, the first group; the last one what stands after it.
var (
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)-----END [A-Z0-9 ]*PRIVATE KEY-----`)
	cutKey     = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:\\r|\\n|[A-Za-z0-9+/=\s])*`)
	jwt        = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`)
	bootstrap  = regexp.MustCompile(`(?i)(token["'\s:=]{1,4})[a-z0-9]{6}\.[a-z0-9]{16}\b`) // kubeadm's; names of Events look like them
	login      = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=%-]{8,}`)
	inURL      = regexp.MustCompile(`(://[^/\s:@"'<>]*:)[^@/\s"'<>]+(@)`)
	flag       = regexp.MustCompile(`(?i)(--[\w-]*(?:` + secretKeys + `) +)[^\s"'\\-][^\s"'\\]*`)
	element    = regexp.MustCompile(`(?i)(<(?:[\w-]+:)?(?:` + secretKeys + `)\b[^<>]*>)[^<]+(</)`)
	line       = regexp.MustCompile(`(?im)^([ \t]*(?:- +)?(?:export[ \t]+)?(?:[\w./][\w./-]*)?(?:` + secretKeys + `)[ \t]*[:=][ \t]*)([^\s].*)$`)
	pair       = regexp.MustCompile(`(?i)((?:` + secretKeys + `)(?:\\*["'])?[ \t]*[:=][ \t]*)(\\+"[^"]*"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&}\]<>"'\\]+)`)
)

// shapes masks what looks like a secret. Most lines of a log have none of the words that a shape begins with, and finding
// that out is a hundred times faster than the expressions are.
func shapes(text string) string {
	lower := strings.ToLower(text)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
	}
	if has("private key-----") {
		text = privateKey.ReplaceAllLiteralString(text, Text)
		text = cutKey.ReplaceAllLiteralString(text, Text)
	}
	if has("eyj") {
		text = jwt.ReplaceAllLiteralString(text, Text)
	}
	if has("bearer", "basic") {
		text = login.ReplaceAllString(text, "${1}"+Text)
	}
	if has("://") && has("@") {
		text = inURL.ReplaceAllString(text, "${1}"+Text+"${2}")
	}
	if !has("pass", "token", "key", "session", "authorization", "cookie") { // parts of all of secretKeys
		return text
	}
	for _, r := range []*regexp.Regexp{bootstrap, flag} {
		text = r.ReplaceAllString(text, "${1}"+Text)
	}
	text = element.ReplaceAllString(text, "${1}"+Text+"${2}")
	return valued(pair, valued(line, text, wholeLine), inQuotes)
}

// valued masks the second group of r, as masked writes it.
func valued(r *regexp.Regexp, text string, masked func(value string) string) string {
	return r.ReplaceAllStringFunc(text, func(found string) string {
		g := r.FindStringSubmatch(found)
		if bare, _ := unquote(g[2]); bare == "" || dull(bare) {
			return found
		}
		return g[1] + masked(g[2])
	})
}

// wholeLine masks the value of a line of its own; a block of YAML's, which begins in the next line, is none.
func wholeLine(value string) string {
	if value == "|" || value == ">" || value == "{" || value == "[" {
		return value
	}
	return Text
}

// inQuotes keeps the quotes, so that JSON stays JSON.
func inQuotes(value string) string {
	_, quote := unquote(value)
	return quote + Text + quote
}

// unquote returns a value without its quotes, and one of these.
func unquote(value string) (bare, quote string) {
	rest := strings.TrimLeft(value, `\`)
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return value, ""
	}
	quote = value[:len(value)-len(rest)+1]
	return strings.TrimSuffix(strings.TrimPrefix(value, quote), quote), quote
}
