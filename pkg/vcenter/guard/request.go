package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

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
