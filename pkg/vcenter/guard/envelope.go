package guard

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// The known namespaces.
const (
	envelopeSpace = "http://schemas.xmlsoap.org/soap/envelope/"
	instanceSpace = "http://www.w3.org/2001/XMLSchema-instance"
	xmlSpace      = "http://www.w3.org/XML/1998/namespace"
)

// Limits of an envelope, far beyond those of clients: without them a small body could use much memory.
const (
	maxNodes = 200_000
	maxDepth = 100
)

// name is a name as written, with the namespace of its prefix.
type name struct{ prefix, local, space string }

// attribute is an attribute, or the declaration of a namespace, for which declares is set.
type attribute struct {
	name
	value    string
	declares bool
}

// node is an element, or a text if the element's name is empty.
type node struct {
	name
	attributes []attribute
	children   []*node
	text       string
	// parent has the enclosing declarations.
	parent *node
}

// readXML parses a document so that it has only one interpretation: it drops comments, and refuses everything but elements,
// attributes and texts. Prefixes must be declared. It keeps prefixes, because values may use them, and signatures include them.
func readXML(body []byte) (*node, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("is not UTF-8")
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	document := &node{}
	at, depth, nodes := document, 0, 0
	for {
		begin := d.InputOffset()
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("is not XML: %w", err)
		}
		if nodes++; nodes > maxNodes {
			return nil, fmt.Errorf("has more than %d elements", maxNodes)
		}
		switch token := token.(type) {
		case xml.StartElement:
			child, err := element(at, token)
			if err != nil {
				return nil, err
			}
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("is nested more than %d elements deep", maxDepth)
			}
			at.children = append(at.children, child)
			at = child
		case xml.EndElement:
			if at == document || token.Name.Space != at.prefix || token.Name.Local != at.local {
				return nil, fmt.Errorf("is not XML: an end of %q without its begin", token.Name.Local)
			}
			at, depth = at.parent, depth-1
		case xml.CharData:
			if at != document {
				at.children = append(at.children, &node{text: string(token), parent: at})
			} else if len(bytes.TrimSpace(token)) > 0 {
				return nil, errors.New("has a text outside of the envelope")
			}
		case xml.ProcInst:
			if token.Target != "xml" || begin != 0 {
				return nil, fmt.Errorf("has a processing instruction %q", token.Target)
			}
		case xml.Comment:
		default:
			return nil, errors.New("has a document type")
		}
	}
	if at != document {
		return nil, fmt.Errorf("is not XML: %q has no end", at.local)
	}
	if len(document.children) != 1 {
		return nil, fmt.Errorf("has %d root elements, where one is due", len(document.children))
	}
	return document.children[0], nil
}

// element returns the node of a start element.
func element(parent *node, start xml.StartElement) (*node, error) {
	n := &node{name: name{prefix: start.Name.Space, local: start.Name.Local}, parent: parent}
	for _, a := range start.Attr {
		one := attribute{name: name{prefix: a.Name.Space, local: a.Name.Local}, value: a.Value}
		one.declares = one.prefix == "xmlns" || one.prefix == "" && one.local == "xmlns"
		if strings.ContainsAny(a.Value, "\t\r\n") {
			return nil, fmt.Errorf("attribute %q has a line break", a.Name.Local)
		}
		if one.prefix == "xmlns" && (a.Value == "" || a.Name.Local == "xml" || a.Name.Local == "xmlns") {
			return nil, fmt.Errorf("declares the prefix %q wrongly", a.Name.Local)
		}
		n.attributes = append(n.attributes, one)
	}
	if err := n.resolve(&n.name, true); err != nil {
		return nil, err
	}
	for i := range n.attributes {
		a := &n.attributes[i]
		if !a.declares {
			if err := n.resolve(&a.name, false); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(n.attributes[:i], func(b attribute) bool {
			return b.declares == a.declares && b.local == a.local && (a.declares && b.prefix == a.prefix || !a.declares && b.space == a.space)
		}) {
			return nil, fmt.Errorf("element %q has the attribute %q twice", n.local, a.local)
		}
	}
	return n, nil
}

// resolve sets the namespace of a name: for an element, no prefix means the default namespace.
func (n *node) resolve(of *name, isElement bool) error {
	if !plain(of.local) || of.prefix != "" && !plain(of.prefix) {
		return fmt.Errorf("has a name %q", of.prefix+":"+of.local)
	}
	if of.prefix == "" && !isElement {
		return nil
	}
	if of.prefix == "xml" {
		of.space = xmlSpace
		return nil
	}
	for at := n; at != nil; at = at.parent {
		for _, a := range at.attributes {
			if a.declares && (of.prefix == "" && a.prefix == "" || of.prefix != "" && a.prefix == "xmlns" && a.local == of.prefix) {
				of.space = a.value
				return nil
			}
		}
	}
	if of.prefix != "" {
		return fmt.Errorf("uses the prefix %q, which it does not declare", of.prefix)
	}
	return nil
}

// plain reports whether a name has only ASCII letters, digits and the punctuation of XML names.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && c != '.' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// elements returns the child elements. Text beside them is an error.
func (n *node) elements() ([]*node, error) {
	var all []*node
	for _, c := range n.children {
		if c.local != "" {
			all = append(all, c)
		} else if strings.TrimSpace(c.text) != "" {
			return nil, fmt.Errorf("%q has a text beside its elements", n.local)
		}
	}
	return all, nil
}

// content returns the text of an element without child elements.
func (n *node) content() (string, error) {
	var text strings.Builder
	for _, c := range n.children {
		if c.local != "" {
			return "", fmt.Errorf("%q has elements, where a text is due", n.local)
		}
		text.WriteString(c.text)
	}
	return text.String(), nil
}

// attribute returns the value of an attribute without a namespace.
func (n *node) attribute(local string) string {
	for _, a := range n.attributes {
		if !a.declares && a.space == "" && a.local == local {
			return a.value
		}
	}
	return ""
}

// encode writes a document in the form of exclusive canonical XML, without moving declarations, so that signatures stay valid.
func (n *node) encode() []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	n.write(&b)
	return b.Bytes()
}

func (n *node) write(b *bytes.Buffer) {
	if n.local == "" {
		_, _ = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;").WriteString(b, n.text) // a buffer never fails
		return
	}
	b.WriteString("<" + n.written())
	for _, a := range n.attributes {
		b.WriteString(" " + a.written() + `="`)
		_, _ = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;").WriteString(b, a.value)
		b.WriteByte('"')
	}
	b.WriteByte('>')
	for _, c := range n.children {
		c.write(b)
	}
	b.WriteString("</" + n.written() + ">")
}

// written returns a name as written.
func (n name) written() string {
	if n.prefix == "" {
		return n.local
	}
	return n.prefix + ":" + n.local
}

// headers lists the headers that are sent on. The others are dropped: the vCenter must not get what the guard has not checked.
// The guard sets Content-Type.
func headers() []string {
	return []string{
		"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cookie", "User-Agent", "Soapaction",
		"Vmware-Api-Session-Id", "Vmware-Use-Header-Authn", "X-Request-Id",
	}
}

// misleading lists headers that may change the request for some servers or proxies.
func misleading() []string {
	return []string{
		"Upgrade", "Expect", "Trailer", "Http2-Settings", "Proxy-Authorization",
		"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Method", "X-Original-Url", "X-Rewrite-Url",
		"X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Path", "X-Forwarded-Prefix",
	}
}

// query holds the parameters of a query, each once.
type query map[string]string

// framed checks a request except for its target and body.
func framed(r *http.Request) error {
	if !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodDelete}, r.Method) {
		return fmt.Errorf("the guard does not know the method %q", r.Method)
	}
	for _, h := range misleading() {
		if len(r.Header[h]) > 0 {
			return fmt.Errorf("the header %s may make another request of it", h)
		}
	}
	for _, encoding := range r.Header["Content-Encoding"] {
		if !strings.EqualFold(encoding, "identity") {
			return fmt.Errorf("the body has the encoding %q", encoding)
		}
	}
	if n := len(r.TransferEncoding); n > 1 || n == 1 && r.TransferEncoding[0] != "chunked" || len(r.Header["Transfer-Encoding"]) > 0 || len(r.Trailer) > 0 {
		return errors.New("the transfer encoding is none that a client of vCenter uses")
	}
	for _, h := range append(headers(), "Content-Type") {
		if n := len(r.Header[h]); n > 1 && h != "Cookie" && !strings.HasPrefix(h, "Accept") {
			return fmt.Errorf("the header %s is there %d times", h, n)
		}
	}
	return nil
}

// target checks that a path and a query have one interpretation, and returns the query.
func target(u *url.URL) (query, error) {
	if u.Host != "" || u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("the target is not a path")
	}
	first, rest, _ := strings.Cut(u.EscapedPath(), "/")
	if first != "" || rest == "" {
		return nil, errors.New("the path names nothing")
	}
	for segment := range strings.SplitSeq(rest, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || strings.Trim(plain, ".") == "" || strings.ContainsFunc(plain, odd) {
			return nil, errors.New("the path has more than one reading")
		}
	}
	q := query{}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.ForceQuery {
		return nil, errors.New("the query has more than one reading")
	}
	for key, all := range values {
		if len(all) != 1 || strings.ContainsFunc(key+all[0], func(c rune) bool { return c != ' ' && odd(c) }) {
			return nil, fmt.Errorf("the parameter %q has more than one reading", key)
		}
		q[key] = all[0]
	}
	if _, tilde := q["~action"]; tilde {
		if _, plain := q["action"]; plain {
			return nil, errors.New("there are two actions")
		}
	}
	return q, nil
}

// odd reports whether a server may interpret a character differently within a segment or a parameter.
func odd(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`/\;%?#&`, c)
}

// contentType checks the type of a body. Without a body it needs none.
func contentType(r *http.Request, want string, due bool) error {
	said := r.Header.Get("Content-Type")
	if said == "" && !due {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(said)
	charset := parameters["charset"]
	delete(parameters, "charset")
	if err != nil || kind != want || len(parameters) > 0 || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return fmt.Errorf("the content type is %q, where %q is due", said, want)
	}
	return nil
}

// Request returns the request to send in place of r, written only from what was checked. r is the request from which the intent
// was read; its context is kept.
func (in Intent) Request(r *http.Request) *http.Request {
	values := url.Values{}
	for key, value := range in.query {
		values.Set(key, value)
	}
	out := (&http.Request{
		Method: r.Method, Host: r.Host, RemoteAddr: r.RemoteAddr, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		// No RawPath: the path is written from its decoded form, which was checked.
		URL:    &url.URL{Path: r.URL.Path, RawQuery: values.Encode()},
		Header: http.Header{},
		Body:   http.NoBody,
	}).WithContext(r.Context())
	for _, h := range headers() {
		if there := r.Header[h]; len(there) > 0 {
			out.Header[h] = slices.Clone(there)
		}
	}
	if in.contentType != "" {
		out.Header.Set("Content-Type", in.contentType)
	}
	if len(in.body) > 0 {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(in.body)), int64(len(in.body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(in.body)), nil }
	}
	return out
}
