package trace

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
)

// masked stands for a secret.
const masked = mask.Text

// isSecret reports whether an element, a JSON key or a parameter of that name holds a secret.
func isSecret(name []byte) bool {
	if len(name) < 5 || bytes.HasPrefix(name, []byte("Acquire")) && !bytes.HasSuffix(name, []byte("Response")) { // a method
		return false
	}
	for _, end := range []string{"password", "passwd", "ticket", "token", "cookie", "secret", "session_id", "sessionid"} {
		if len(name) >= len(end) && bytes.EqualFold(name[len(name)-len(end):], []byte(end)) {
			return true
		}
	}
	switch string(name) {
	case "Assertion", "SignatureValue", "X509Certificate", "KeyIdentifier", "BinarySecret", "privateKey", "passphrase", "AcquireCloneTicketResponse",
		"AcquireGenericServiceTicketResponse", "secretKey":
		return true
	}
	return false
}

// isSecretOption reports whether an option of that key may hold one: passwords, and what guests read at boot.
func isSecretOption(key []byte) bool {
	return isSecret(key) || bytes.HasSuffix(key, []byte(".userdata")) || bytes.Contains(key, []byte("userdata."))
}

// MaskXML masks the text in secret elements, and in the values of secret options. Without such elements it returns text, and it never
// fails: what is no XML has no elements.
func MaskXML(text []byte) []byte {
	var out []byte // text[:from], masked
	from := 0
	depth, option := 0, false // inside a secret element; the last key was a secret option's
	for i := 0; i < len(text); {
		at := bytes.IndexByte(text[i:], '<')
		if at < 0 {
			break
		}
		i += at + 1
		end := bytes.IndexByte(text[i:], '>')
		if end < 0 {
			break
		}
		tag := text[i : i+end]
		i += end + 1
		if len(tag) == 0 || tag[0] == '?' || tag[0] == '!' || tag[len(tag)-1] == '/' {
			continue
		}
		closing := tag[0] == '/'
		if closing {
			if depth > 0 {
				depth--
			}
			continue
		}
		name := tag
		if space := bytes.IndexAny(name, " \t\r\n"); space >= 0 {
			name = name[:space]
		}
		if colon := bytes.IndexByte(name, ':'); colon >= 0 {
			name = name[colon+1:]
		}
		next := bytes.IndexByte(text[i:], '<')
		if next < 0 {
			break
		}
		value := bytes.TrimSpace(text[i : i+next])
		switch {
		case depth > 0:
			depth++
		case isSecret(name), option && string(name) == "value":
			depth = 1
		}
		if string(name) == "key" {
			option = isSecretOption(value)
		} else if string(name) != "value" {
			option = false
		}
		if depth > 0 && len(value) > 0 && string(value) != "true" && string(value) != "false" {
			out = append(append(out, text[from:i]...), masked...)
			from = i + next
		}
		i += next
	}
	if from == 0 {
		return text
	}
	return append(out, text[from:]...)
}

var (
	jsonPair    = regexp.MustCompile(`("((?:[^"\\]|\\.)*)"\s*:\s*)"(?:[^"\\]|\\.)*"`)
	jsonString  = regexp.MustCompile(`^\s*"(?:[^"\\]|\\.)*"\s*$`)
	jsonSession = regexp.MustCompile(`("(?:value|output|SECRET)"\s*:\s*)"(?:[^"\\]|\\.)*"`)
)

// maskJSON masks the strings of secret keys.
func maskJSON(text []byte) []byte {
	return jsonPair.ReplaceAllFunc(text, func(pair []byte) []byte {
		g := jsonPair.FindSubmatch(pair)
		if !isSecret(g[2]) && !isSecretOption(g[2]) {
			return pair
		}
		return append(append([]byte{}, g[1]...), `"`+masked+`"`...)
	})
}

// isSession reports whether a REST path creates or names sessions: its answer is a secret.
func isSession(uri string) bool {
	path, _, _ := strings.Cut(uri, "?")
	return path == "/api/session" || path == "/rest/com/vmware/cis/session" || path == "/api" || strings.HasPrefix(path, "/api/vcenter/authentication")
}

// maskBody masks a body by its kind; with session, the whole value is a secret.
func maskBody(body []byte, isJSON, session bool) string {
	switch {
	case len(body) == 0:
		return ""
	case !isJSON:
		return string(MaskXML(body))
	case session && jsonString.Match(body):
		return `"` + masked + `"`
	case session:
		return string(jsonSession.ReplaceAll(maskJSON(body), []byte(`${1}"`+masked+`"`)))
	}
	return string(maskJSON(body))
}

// maskHeader returns a header for a file: without what grants access.
func maskHeader(h http.Header) map[string]string {
	all := make(map[string]string, len(h))
	for key, values := range h {
		switch key {
		case "Cookie", "Set-Cookie":
			all[key] = maskCookie(strings.Join(values, "; "))
		case "Authorization":
			scheme, _, _ := strings.Cut(values[0], " ")
			all[key] = scheme + " " + masked
		default:
			all[key] = strings.Join(values, ", ")
			if isSecret([]byte(key)) || strings.Contains(key, "Session") {
				all[key] = masked
			}
		}
	}
	return all
}

// maskCookie masks the values of cookies; attributes of one that is set stay.
func maskCookie(text string) string {
	pairs := strings.Split(text, ";")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || value == "" || i > 0 && isAttribute(strings.TrimSpace(name)) {
			continue
		}
		pairs[i] = name + "=" + masked
	}
	return strings.Join(pairs, ";")
}

func isAttribute(name string) bool {
	return slices.ContainsFunc([]string{"Path", "Max-Age", "Expires", "SameSite", "Domain"}, func(one string) bool { return strings.EqualFold(name, one) })
}

// maskURI masks secret parameters.
func maskURI(uri string) string {
	path, query, ok := strings.Cut(uri, "?")
	if !ok {
		return uri
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return path + "?" + masked
	}
	for key := range values {
		if isSecret([]byte(key)) {
			values.Set(key, masked)
			query = values.Encode()
		}
	}
	return path + "?" + query
}
