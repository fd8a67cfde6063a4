package front_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
)

// mutator spoils samples. It is for one goroutine.
type mutator struct {
	*rand.Rand
	samples []sample
	// objects are elements of references, as they are in a body.
	objects []string
	// methods are names of methods of SOAP, of those that read and those that write.
	methods []string
	// targets are paths that no sample has.
	targets []string
}

func one[T any](m *mutator, all []T) T { return all[m.IntN(len(all))] }

// next is a sample with up to three mutations.
func (m *mutator) next() sample {
	s := one(m, m.samples).clone()
	all := []func(*sample){
		m.verb, m.path, m.path, m.query, m.query, m.typed, m.encoded, m.spliced, m.spliced, m.spliced, m.renamed, m.renamed, m.dressed, m.referred,
		m.json, m.headed, m.headed, m.bytes, m.rawBytes,
	}
	for range m.IntN(4) {
		one(m, all)(&s)
	}
	return s
}

func (m *mutator) verb(s *sample) {
	s.method = one(m, []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "MOVE", "COPY", "MKCOL", "PROPFIND", "post", "POST "})
}

// parts are the path and the query of a sample.
func (s *sample) parts() (p, query string) {
	p, query, _ = strings.Cut(s.target, "?")
	return p, query
}

func (s *sample) to(p, query string) {
	if s.target = p; query != "" {
		s.target += "?" + query
	}
}

func (m *mutator) path(s *sample) {
	p, query := s.parts()
	at := m.IntN(len(p) + 1)
	insert := func(text string) string { return p[:at] + text + p[at:] }
	switch m.IntN(9) {
	case 0:
		other := one(m, m.samples)
		p, _ = other.parts()
	case 1:
		s.target = one(m, m.targets)
		return
	case 2:
		p = insert(one(m, []string{"/", "//", "/./", "/../", "%2f", "%2F..%2f", "%5c", "\\", ";x=y", ";", "%00", "%3b", "%25%32%66", "%c0%af", "\t", "%20", "%0d%0a", "#", "*"}))
	case 3:
		p += one(m, []string{"/", "/x", "/..", "/../sdk", ";jsessionid=1", ".", "%20", "/id:x", "?x", "/..;/folder/x"})
	case 4:
		p = strings.ToUpper(p)
	case 5:
		if at < len(p) && p[at] != '/' {
			p = p[:at] + fmt.Sprintf("%%%02x", p[at]) + p[at+1:]
		}
	case 6:
		other, _ := url.PathUnescape(one(m, m.targets)) // no change, where it is not escaped
		other, _, _ = strings.Cut(other, "?")
		p = one(m, []string{"/sdk/..", "/rest/..", "/sdk/%2e%2e", "/api/.", "/sdk;/.."}) + other
	case 7:
		p = "https://elsewhere" + p
	case 8:
		p = one(m, []string{"/rest", "/api", "/sdk", "/pbm", "/vsanHealth", "/vslm/sdk", "/sts/STSService", "/lookupservice/sdk"})
	}
	s.to(p, query)
}

func (m *mutator) query(s *sample) {
	p, query := s.parts()
	if query == "" && !strings.HasPrefix(p, "/rest") && m.IntN(8) > 0 {
		return // one answer for all of those is known
	}
	key := one(m, []string{"~action", "action", "%7eaction", "Action", "~method", "_method", "vmw-task", "filter", "library_id", "dcPath", "dsName", ""})
	value := one(m, []string{"list", "get", "get-x", "find", "attach", "detach", "create", "delete", "list-attached-tags", "list-attached-tags-on-objects", "list-tags-for-category", "attach-tag-to-multiple-objects", "force-delete", "DELETE", "DC0", "LocalDS_0", "", "%00"})
	add := key + "=" + value
	switch m.IntN(6) {
	case 0:
		query = add
	case 1:
		query += "&" + add
	case 2:
		query = add + "&" + query
	case 3:
		query = strings.NewReplacer("~action", "action", "%7Eaction", "action").Replace(query)
	case 4:
		query += "&" + query
	case 5:
		query += one(m, []string{";", "&", "%", "+", ";~action=attach", "%26action=attach", "&&"})
	}
	s.to(p, query)
}

func (m *mutator) typed(s *sample) {
	s.set("Content-Type", one(m, []string{
		"text/xml", "application/json", "application/xml", "application/soap+xml", "application/octet-stream", "text/plain", "multipart/form-data; boundary=x",
		"application/x-www-form-urlencoded", "text/xml; charset=utf-16", "text/xml, application/json", "TEXT/XML", "", "application/json;charset=utf-7",
	}))
	if m.IntN(4) == 0 {
		s.headers = append(s.headers, [2]string{"Content-Type", "text/xml"})
	}
}

func (m *mutator) encoded(s *sample) {
	encoding := one(m, []string{"gzip", "deflate", "br", "identity", "x-gzip", "gzip, gzip"})
	if strings.Contains(encoding, "gzip") {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(s.body) // a buffer never fails
		_ = w.Close()
		s.body = b.Bytes()
	}
	s.set("Content-Encoding", encoding)
}

// inner is what is in the body of an envelope, and where it begins and ends; nothing where it is none.
func inner(body []byte) (begin, end int) {
	at := innerAt.FindSubmatchIndex(body)
	if at == nil {
		return 0, 0
	}
	return at[2], at[3]
}

var (
	innerAt   = regexp.MustCompile(`(?s)<(?:[\w-]+:)?Body[^>]*>(.*?)</(?:[\w-]+:)?Body>`)
	callAt    = regexp.MustCompile(`<([A-Za-z_]+)( xmlns="urn:[a-z0-9]+")`)
	objectAt  = regexp.MustCompile(`type="[A-Za-z]+">[^<]+<`)
	quotedAt  = regexp.MustCompile(`"(vm-\d+|VirtualMachine|urn:[^"]*)"`)
	spaceIsAt = regexp.MustCompile(`urn:(vim25|vsan|pbm)`)
)

// spliced puts calls of two samples into one body.
func (m *mutator) spliced(s *sample) {
	other := one(m, m.samples)
	begin, end := inner(s.body)
	from, until := inner(other.body)
	if end == 0 || until == 0 {
		s.body = bytes.Clone(other.body)
		return
	}
	own, its := string(s.body[begin:end]), string(other.body[from:until])
	head, tail := string(s.body[:begin]), string(s.body[end:])
	switch m.IntN(10) {
	case 0:
		own = its
	case 1:
		own += its
	case 2:
		own = its + own
	case 3:
		tail = "</Body><Body>" + its + tail
	case 4:
		head = strings.Replace(head, "<Body", "<Header>"+its+"</Header><Body", 1)
	case 5:
		own = "<!--" + own + "-->" + its
	case 6:
		own = "<![CDATA[" + its + "]]>" + own
	case 7:
		tail += string(other.body)
	case 8:
		if i := strings.LastIndex(own, "</"); i >= 0 {
			own = own[:i] + its + own[i:] // within the call
		}
	case 9:
		head = strings.Replace(head, "<Body", its+"<Body", 1)
	}
	s.body = []byte(head + own + tail)
}

// renamed makes another method of the call.
func (m *mutator) renamed(s *sample) {
	found := callAt.FindSubmatch(s.body)
	if found == nil {
		return
	}
	was, to := string(found[1]), one(m, m.methods)
	s.body = []byte(strings.NewReplacer("<"+was+" ", "<"+to+" ", "</"+was+">", "</"+to+">").Replace(string(s.body)))
}

// dressed writes the same in another way, or nearly.
func (m *mutator) dressed(s *sample) {
	found := callAt.FindSubmatch(s.body)
	if found == nil {
		return
	}
	was := string(found[1])
	end := "</" + was + ">"
	begin := "<" + was + string(found[2])
	space := strings.TrimSuffix(strings.TrimPrefix(string(found[2]), ` xmlns="`), `"`)
	replace := func(b, e string) { s.body = []byte(strings.NewReplacer(begin, b, end, e).Replace(string(s.body))) }
	switch m.IntN(8) {
	case 0:
		replace("<p:"+was+` xmlns:p="`+space+`" xmlns="`+space+`"`, "</p:"+was+">")
	case 1:
		replace("<q:"+was+string(found[2]), "</q:"+was+">")
	case 2:
		replace(begin+` xmlns:x="urn:x" x:href="#1" id="2"`, end)
	case 3:
		s.body = spaceIsAt.ReplaceAll(s.body, []byte(one(m, []string{"urn:vim25", "urn:vsan", "urn:pbm", "urn:internalvim25", "urn:vslm", "", "URN:VIM25"})))
	case 4:
		s.body = append([]byte(`<!DOCTYPE e [<!ENTITY x "`+one(m, m.methods)+`">]>`), s.body...)
	case 5:
		s.body = bytes.Replace(s.body, []byte(end), []byte("<!-- x -->"+end), 1)
	case 6:
		s.body = objectAt.ReplaceAllFunc(s.body, func(b []byte) []byte {
			kind, id, _ := strings.Cut(strings.TrimSuffix(string(b), "<"), ">")
			return []byte(kind + "><![CDATA[" + id + "]]><")
		})
	case 7:
		s.body = bytes.Replace(s.body, []byte("UTF-8"), []byte(one(m, []string{"UTF-16", "ISO-8859-1", "utf-7", "UTF-8\" standalone=\"yes"})), 1)
	}
}

// referred calls it on another object, or on two.
func (m *mutator) referred(s *sample) {
	object := one(m, m.objects)
	if m.IntN(3) == 0 {
		s.body = bytes.Replace(s.body, []byte("</_this>"), []byte("</_this><_this "+object+"/_this>"), 1)
		return
	}
	at := objectAt.FindIndex(s.body)
	if at != nil {
		s.body = append(append(bytes.Clone(s.body[:at[0]]), object...), s.body[at[1]:]...)
	}
}

func (m *mutator) json(s *sample) {
	switch m.IntN(5) {
	case 0:
		if other := one(m, m.samples); strings.HasPrefix(string(other.body), "{") {
			s.body = bytes.Clone(other.body)
		}
	case 1:
		s.body = []byte(strings.Replace(string(s.body), "{", `{"create_spec":{"name":"fuzzed","cardinality":"SINGLE","associable_types":[]},`, 1))
	case 2:
		s.body = quotedAt.ReplaceAll(s.body, []byte(one(m, []string{`"vm-1","id":"vm-2"`, `"Datacenter"`, `"vm-1","ID":"x"`, "null", "[]"})))
	case 3:
		s.body = append(bytes.Clone(s.body), s.body...)
	case 4:
		s.body = []byte(one(m, []string{"{}", "[]", "null", `{"object_id":{"type":"VirtualMachine","id":"x"}}`, `{"spec":{}}`, ""}))
	}
}

func (m *mutator) headed(s *sample) {
	h := one(m, [][2]string{
		{"SOAPAction", "urn:vim25/Destroy_Task"},
		{"SOAPAction", "Destroy_Task"},
		{"SOAPAction", `"urn:vim25#PowerOffVM_Task"`},
		{"X-HTTP-Method-Override", "DELETE"},
		{"X-HTTP-Method", "PUT"},
		{"X-Method-Override", "PATCH"},
		{"X-Original-URL", "/folder/x"},
		{"X-Rewrite-URL", "/folder/x"},
		{"Upgrade", "websocket"},
		{"Upgrade", "h2c"},
		{"Connection", "Upgrade"},
		{"Connection", "Content-Type, Cookie"},
		{"Expect", "100-continue"},
		{"Expect", "x"},
		{"Transfer-Encoding", "chunked"},
		{"Transfer-Encoding", "gzip, chunked"},
		{"Transfer-Encoding", "identity"},
		{"TE", "trailers"},
		{"Trailer", "X-HTTP-Method-Override"},
		{"Host", "elsewhere"},
		{"Content-Length", "5"},
		{"Authorization", "Basic eDp5"},
		{"Vmware-Api-Session-Id", "x"},
		{"Range", "bytes=0-1"},
		{"X-Forwarded-Prefix", "/folder"},
	})
	if m.IntN(2) == 0 {
		s.set(h[0], h[1])
	} else {
		s.headers = append(s.headers, h)
	}
}

// bytes spoils the body.
func (m *mutator) bytes(s *sample) {
	for range 1 + m.IntN(3) {
		if len(s.body) == 0 {
			return
		}
		at := m.IntN(len(s.body))
		switch m.IntN(3) {
		case 0:
			s.body[at] = byte(m.IntN(256))
		case 1:
			s.body = append(s.body[:at], s.body[at+1:]...)
		case 2:
			s.body = append(s.body[:at], append([]byte(one(m, []string{"<", ">", "&", "\"", "\x00", "]]>", "-->", "&#0;", "\xff", "{", "}", ":"})), s.body[at:]...)...)
		}
	}
}

// rawBytes spoils the head, or puts a second request behind the first.
func (m *mutator) rawBytes(s *sample) {
	s.raw = s.wire("")
	at := m.IntN(min(len(s.raw), 200))
	switch m.IntN(4) {
	case 0:
		s.raw[at] = byte(m.IntN(256))
	case 1:
		s.raw = append(s.raw[:at:at], append([]byte(one(m, []string{"\r\n", "\n", "\r", " ", "\x00", ":", "\t", "\r\n\r\n"})), s.raw[at:]...)...)
	case 2:
		other := one(m, m.samples)
		s.raw = append(s.raw, other.wire("")...)
	case 3:
		s.raw = append(s.raw[:at:at], s.raw[at+1:]...)
	}
}

// wire is a request in bytes.
func (s *sample) wire(session string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", s.method, s.target)
	if s.header("Host") == "" {
		b.WriteString("Host: front\r\n")
	}
	b.WriteString(session)
	for _, h := range s.headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	body := s.body
	if strings.Contains(s.header("Transfer-Encoding"), "chunked") {
		body = []byte(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
		if len(s.body) == 0 {
			body = []byte("0\r\n\r\n")
		}
	} else if s.header("Content-Length") == "" && (len(body) > 0 || s.method == "POST") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}
