package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// scanner iterates over the start tags of an XML text. It allocates nothing, checks nothing and never fails: the simulator
// rejects malformed texts.
type scanner struct {
	rest []byte // the text after the last tag
}

// tag is a start tag.
type tag struct {
	prefix, name []byte
	attrs        []byte
}

// next returns the next start tag; ok is false at the end.
func (s *scanner) next() (t tag, ok bool) {
	for {
		i := bytes.IndexByte(s.rest, '<')
		if i < 0 || i+1 >= len(s.rest) {
			s.rest = nil
			return tag{}, false
		}
		s.rest = s.rest[i+1:]
		switch {
		case bytes.HasPrefix(s.rest, []byte("!--")):
			s.skip("-->")
		case bytes.HasPrefix(s.rest, []byte("![CDATA[")):
			s.skip("]]>")
		case s.rest[0] == '!', s.rest[0] == '?', s.rest[0] == '/':
			s.skip(">")
		default:
			return s.tag(), true
		}
	}
}

// skip moves behind the next end.
func (s *scanner) skip(end string) {
	i := bytes.Index(s.rest, []byte(end))
	if i < 0 {
		s.rest = nil
		return
	}
	s.rest = s.rest[i+len(end):]
}

// tag reads a start tag; s.rest begins after its "<".
func (s *scanner) tag() (t tag) {
	end, quote := len(s.rest), byte(0)
	for i, c := range s.rest {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case c == '"', c == '\'':
			quote = c
			continue
		case c != '>':
			continue
		}
		end = i
		break
	}
	text := s.rest[:end]
	s.rest = s.rest[min(end+1, len(s.rest)):]
	text = bytes.TrimSuffix(text, []byte("/"))
	if i := bytes.IndexAny(text, " \t\r\n"); i >= 0 {
		text, t.attrs = text[:i], text[i:]
	}
	if i := bytes.IndexByte(text, ':'); i >= 0 {
		t.prefix, text = text[:i], text[i+1:]
	}
	t.name = text
	return t
}

// text returns what follows the tag up to the next one.
func (s *scanner) text() string {
	i := bytes.IndexByte(s.rest, '<')
	if i < 0 {
		return ""
	}
	return html.UnescapeString(string(bytes.TrimSpace(s.rest[:i])))
}

// attr returns the value of the attribute with exactly that name, including the prefix.
func (t tag) attr(name string) string {
	rest := t.attrs
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		i := bytes.IndexByte(rest, '=')
		if i < 0 {
			return ""
		}
		key := bytes.TrimSpace(rest[:i])
		rest = bytes.TrimLeft(rest[i+1:], " \t\r\n")
		if len(rest) == 0 {
			return ""
		}
		end := bytes.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return ""
		}
		if string(key) == name {
			return html.UnescapeString(string(rest[1 : 1+end]))
		}
		rest = rest[end+2:]
	}
}

// soapCall is the call in a SOAP envelope.
type soapCall struct {
	method    string
	namespace string
	this      types.ManagedObjectReference
}

// readSOAP reads the first element in the Body of an envelope, and the _this in it.
func readSOAP(envelope []byte) (c soapCall) {
	s := scanner{rest: envelope}
	for {
		t, ok := s.next()
		if !ok {
			return c
		}
		if string(t.name) == "Body" {
			break
		}
	}
	t, ok := s.next()
	if !ok || len(t.name) == 0 || len(t.name) > maxName {
		return c
	}
	c.method = string(bytes.ToValidUTF8(t.name, []byte("�")))
	declared := "xmlns"
	if len(t.prefix) > 0 {
		declared += ":" + string(t.prefix)
	}
	c.namespace = t.attr(declared)
	if t, ok = s.next(); ok && string(t.name) == "_this" {
		c.this = types.ManagedObjectReference{Type: t.attr("type"), Value: s.text()}
	}
	return c
}

// mentioned returns the references in a text: the elements with an attribute "type".
func mentioned(envelope []byte) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	s := scanner{rest: envelope}
	for {
		t, ok := s.next()
		if !ok {
			return refs
		}
		if len(t.attrs) == 0 {
			continue
		}
		if kind := t.attr("type"); kind != "" {
			refs = append(refs, types.ManagedObjectReference{Type: kind, Value: s.text()})
		}
	}
}

// faultType returns the type of the fault at the beginning of an answer, or "".
func faultType(answer []byte) string {
	s := scanner{rest: answer}
	for {
		t, ok := s.next()
		if !ok {
			return ""
		}
		if string(t.name) == "detail" {
			break
		}
	}
	t, ok := s.next()
	if !ok {
		return ""
	}
	if i := bytes.Index(t.attrs, []byte("xsi:type=")); i >= 0 {
		return t.attr("xsi:type")
	}
	return string(bytes.TrimSuffix(t.name, []byte("Fault")))
}

// isREST reports whether a path belongs to the Automation API, or to the Policy API of NSX.
func isREST(path string) bool {
	return under(path, "/rest") || under(path, "/api") || under(path, "/policy")
}

func under(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// restMethod returns a common name for REST calls of one kind: it replaces identifiers by {id}, and keeps only ~action and action
// of the query, which select the operation. Of paths outside /rest, /api and /policy, which name files, it keeps the first element.
func restMethod(r *http.Request) string {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if isREST("/" + segments[0]) {
		for i, s := range segments {
			if strings.ContainsAny(s, ":") || len(s) >= 32 {
				segments[i] = "{id}"
			}
		}
	} else {
		segments = segments[:1]
	}
	name := r.Method + " /" + strings.Join(segments, "/")
	if r.URL.RawQuery != "" {
		q := r.URL.Query()
		for _, key := range []string{"~action", "action"} {
			if v := q.Get(key); v != "" {
				name += "?" + key + "=" + v
				break
			}
		}
	}
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.ToValidUTF8(name, "�")
}

// mentionedJSON returns the references in a body of the Automation API: the objects with an id and a type.
func mentionedJSON(body []byte) []types.ManagedObjectReference {
	var document any
	if json.Unmarshal(body, &document) != nil {
		return nil
	}
	var refs []types.ManagedObjectReference
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			id, _ := v["id"].(string)
			if kind, _ := v["type"].(string); kind != "" && id != "" {
				refs = append(refs, types.ManagedObjectReference{Type: kind, Value: id})
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(document)
	return refs
}

// restErrors lists the errors of the vSphere Automation API (com.vmware.vapi.std.errors).
func restErrors() []string {
	return []string{
		"ALREADY_EXISTS", "ALREADY_IN_DESIRED_STATE", "CANCELED", "CONCURRENT_CHANGE", "ERROR", "FEATURE_IN_USE",
		"INTERNAL_SERVER_ERROR", "INVALID_ARGUMENT", "INVALID_ELEMENT_CONFIGURATION", "INVALID_ELEMENT_TYPE", "INVALID_REQUEST",
		"NOT_ALLOWED_IN_CURRENT_STATE", "NOT_FOUND", "OPERATION_NOT_FOUND", "RESOURCE_BUSY", "RESOURCE_INACCESSIBLE",
		"RESOURCE_IN_USE", "SERVICE_UNAVAILABLE", "TIMED_OUT", "UNABLE_TO_ALLOCATE_RESOURCE", "UNAUTHENTICATED", "UNAUTHORIZED",
		"UNEXPECTED_INPUT", "UNSUPPORTED", "UNVERIFIED_PEER",
	}
}

// restStatus returns the HTTP status of an error, as in VMware's generator of OpenAPI (build_error_map).
func restStatus(kind string) int {
	switch kind {
	case "UNAUTHENTICATED":
		return http.StatusUnauthorized
	case "UNAUTHORIZED":
		return http.StatusForbidden
	case "NOT_FOUND", "OPERATION_NOT_FOUND":
		return http.StatusNotFound
	case "INTERNAL_SERVER_ERROR":
		return http.StatusInternalServerError
	case "SERVICE_UNAVAILABLE":
		return http.StatusServiceUnavailable
	case "TIMED_OUT":
		return http.StatusGatewayTimeout
	case "CONFLICT":
		return http.StatusConflict
	case "PRECONDITION_FAILED":
		return http.StatusPreconditionFailed
	case "TOO_MANY_REQUESTS":
		return http.StatusTooManyRequests
	default:
		return http.StatusBadRequest
	}
}

const restErrorPrefix = "com.vmware.vapi.std.errors."

// restMessage is a message of the Automation API.
type restMessage struct {
	ID      string   `json:"id"`
	Default string   `json:"default_message"`
	Args    []string `json:"args"`
}

// restBody is an error of /api; without Type it is the value of an error of /rest.
type restBody struct {
	Type     string        `json:"error_type,omitempty"`
	Messages []restMessage `json:"messages"`
}

// writeRESTError answers with an error in the form of the path's API: /rest wraps it in type and value, /api does not; NSX has its
// own form.
func (c *call) writeRESTError(e RESTError) {
	c.Fault = e.Type
	if e.Status == 0 {
		e.Status = restStatus(e.Type)
	}
	e.Message = cmp.Or(e.Message, "simulated error: "+e.Type)
	switch {
	case c.gate.opts.NSX:
		c.writePolicyError(e.Status, e.Message)
		return
	case c.gate.opts.Kubernetes:
		c.writeStatus(e.Status, e.Message)
		return
	}
	messages := []restMessage{{ID: "vsphere-sandbox.gate." + strings.ToLower(e.Type), Default: e.Message, Args: []string{}}}
	body := any(restBody{e.Type, messages})
	if !under(c.r.URL.Path, "/api") {
		body = struct {
			Type  string   `json:"type"`
			Value restBody `json:"value"`
		}{restErrorPrefix + strings.ToLower(e.Type), restBody{Messages: messages}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(c.answer, err.Error(), http.StatusInternalServerError)
		return
	}
	c.answer.Header().Set("Content-Type", "application/json")
	c.answer.WriteHeader(e.Status)
	_, _ = c.answer.Write(text) // the client may have disconnected
}

// restErrorType returns the type of the error at the beginning of an answer, or "".
func restErrorType(answer []byte) string {
	var e struct {
		Type    string `json:"type"`
		APIType string `json:"error_type"`
		Policy  string `json:"httpStatus"`
	}
	if json.Unmarshal(answer, &e) != nil {
		return ""
	}
	if name := cmp.Or(e.APIType, e.Policy); name != "" {
		return name
	}
	return strings.ToUpper(strings.TrimPrefix(e.Type, restErrorPrefix))
}
