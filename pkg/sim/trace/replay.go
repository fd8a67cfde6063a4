package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Target is a vCenter that gets the calls of a trace again.
type Target struct {
	// URL is that of its API, with the login that takes the place of the recorded ones.
	URL *url.URL
	// Transport verifies its certificate.
	Transport http.RoundTripper
	// Patience limits a call: a long poll whose updates do not come again is skipped after it. Default: 2 seconds.
	Patience time.Duration
}

// Outcome is how a call of a trace compares.
type Outcome struct {
	Call *Call
	// Skipped says why the call was not sent or not compared, "" if it was.
	Skipped string
	// Differences are those of the answers' structure: status, fault, elements that one has and the other has not. Values are not
	// compared.
	Differences []string
}

// Replay sends the calls of a trace to targets, by the names of their vCenters, in the order of their beginnings, and compares the
// answers. Sessions, references, and other identifiers in requests are those that the targets answered in the place of the recorded
// ones. Calls with masked secrets are skipped, except logins. f is called with each outcome.
func Replay(ctx context.Context, calls []Call, targets map[string]Target, f func(Outcome) error) error {
	p := &player{targets: targets, sessions: map[sessionKey]*http.Client{}, ids: map[string]map[string]string{}, stalled: map[string]bool{}}
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b Call) int { return a.Start.Compare(b.Start) })
	for i := range calls {
		o := Outcome{Call: &calls[i]}
		waits := strings.HasPrefix(o.Call.Method, "WaitForUpdates")
		object := o.Call.VCenter + "/" + o.Call.Object.Value
		if waits && p.stalled[object] {
			o.Skipped = "the updates before it did not come"
		} else {
			var err error
			if o.Skipped, o.Differences, err = p.play(ctx, o.Call); err != nil {
				return fmt.Errorf("call %d, %s: %w", i+1, o.Call.Method, err)
			}
			p.stalled[object] = p.stalled[object] || waits && o.Skipped != ""
		}
		if err := f(o); err != nil {
			return err
		}
	}
	return nil
}

type sessionKey struct {
	vcenter string
	number  int
	rest    bool
}

// player is one replay.
type player struct {
	targets  map[string]Target
	sessions map[sessionKey]*http.Client
	ids      map[string]map[string]string // by vCenter: recorded ones, and those of the target
	// stalled are the objects with a call that got no answer in time: the versions of its later updates are others.
	stalled map[string]bool
}

// session holds the cookies and the id of one session.
type session struct {
	next    http.RoundTripper
	cookies map[string]string
	id      string
}

// RoundTrip implements http.RoundTripper.
func (s *session) RoundTrip(r *http.Request) (*http.Response, error) {
	for name, value := range s.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value}) //nolint:gosec // of a request
	}
	if s.id != "" {
		r.Header.Set("Vmware-Api-Session-Id", s.id)
	}
	res, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, c := range res.Cookies() {
		s.cookies[c.Name] = c.Value
	}
	return res, nil
}

func (p *player) play(ctx context.Context, c *Call) (skipped string, differences []string, err error) {
	target, ok := p.targets[c.VCenter]
	login := c.Method == "Login" || c.Verb == http.MethodPost && isSession(c.URI) && c.URI != "/api"
	switch {
	case !ok:
		return "no vCenter " + c.VCenter, nil, nil
	case c.Transport == "http" || c.Request.Size > 0 && c.Request.Body == "":
		return "its body is not in the trace", nil, nil
	case strings.Contains(c.Request.Body+c.URI, masked) && !login:
		return "it has a masked secret", nil, nil
	case c.Status == 0:
		return "it got no answer", nil, nil
	case len(c.Rules) > 0:
		return "a fault affected it", nil, nil
	}
	s, err := p.session(ctx, c, target, login)
	if err != nil {
		return "", nil, err
	}
	ids := p.ids[c.VCenter]
	if ids == nil {
		ids = map[string]string{}
		p.ids[c.VCenter] = ids
	}
	body := substitute(c.Request.Body, ids)
	if c.Method == "Login" {
		body = credentials(body, target.URL.User)
	}
	patience := cmp.Or(target.Patience, 2*time.Second)
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to := *target.URL
	to.User, to.Path, to.RawQuery = nil, "", ""
	req, err := http.NewRequestWithContext(patient, c.Verb, to.String()+substitutePath(c.URI, ids), strings.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	for key, value := range c.Request.Header {
		switch key {
		case "Cookie", "Authorization", "Content-Length", "Connection", "Accept-Encoding":
		default:
			if !strings.Contains(value, masked) {
				req.Header.Set(key, value)
			}
		}
	}
	if login && c.Transport == "rest" {
		password, _ := target.URL.User.Password()
		req.SetBasicAuth(target.URL.User.Username(), password)
	}
	res, err := s.Do(req)
	if err != nil {
		if patient.Err() != nil && ctx.Err() == nil {
			return fmt.Sprintf("no answer within %s", patience), nil, nil
		}
		return "", nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		if patient.Err() != nil && ctx.Err() == nil {
			return fmt.Sprintf("no answer within %s", patience), nil, nil
		}
		return "", nil, err
	}
	if login && c.Transport == "rest" && res.StatusCode < http.StatusMultipleChoices {
		s.Transport.(*session).id = sessionID(answer)
	}
	if res.StatusCode != c.Status {
		differences = append(differences, fmt.Sprintf("status %d, recorded %d", res.StatusCode, c.Status))
	}
	if c.Answer.Cut {
		return "", differences, nil
	}
	return "", append(differences, compareBodies(c.Answer.Body, string(answer), ids)...), nil
}

func sessionID(answer []byte) string {
	var id string
	var wrapped struct{ Value string }
	_ = json.Unmarshal(answer, &id)      // one of the two
	_ = json.Unmarshal(answer, &wrapped) // is its form
	return id + wrapped.Value
}

// session returns the client of a recorded session. A session whose login is not in the trace is opened first.
func (p *player) session(ctx context.Context, c *Call, t Target, login bool) (*http.Client, error) {
	key := sessionKey{c.VCenter, c.Session, c.Transport == "rest"}
	if s := p.sessions[key]; s != nil && !login {
		return s, nil
	}
	one := &session{next: t.Transport, cookies: map[string]string{}}
	s := &http.Client{Transport: one}
	p.sessions[key] = s
	if login || c.Session == 0 {
		return s, nil
	}
	password, _ := t.URL.User.Password()
	if key.rest {
		to := *t.URL
		to.User, to.Path = nil, "/api/session"
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), http.NoBody)
		if err != nil {
			return nil, err
		}
		req.SetBasicAuth(t.URL.User.Username(), password)
		res, err := s.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= http.StatusMultipleChoices {
			return nil, errors.Join(err, fmt.Errorf("login: %s", res.Status))
		}
		one.id = sessionID(answer)
		return s, nil
	}
	body, err := xml.Marshal(&soap.Envelope{Body: &methods.LoginBody{Req: &types.Login{
		This: types.ManagedObjectReference{Type: "SessionManager", Value: "SessionManager"}, UserName: t.URL.User.Username(), Password: password,
	}}})
	if err != nil {
		return nil, err
	}
	to := *t.URL
	to.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	req.Header.Set("SOAPAction", "urn:vim25/8.0.3.0")
	res, err := s.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("login: %s", res.Status)
	}
	return s, nil
}

var (
	loginUser     = regexp.MustCompile(`(<(?:\w+:)?userName(?: [^>]*)?>)[^<]*(<)`)
	loginPassword = regexp.MustCompile(`(<(?:\w+:)?password(?: [^>]*)?>)[^<]*(<)`)
)

// credentials puts a login in the place of the recorded one.
func credentials(body string, user *url.Userinfo) string {
	escaped := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // a builder never fails
		return b.String()
	}
	password, _ := user.Password()
	for r, value := range map[*regexp.Regexp]string{loginUser: user.Username(), loginPassword: password} {
		body = r.ReplaceAllStringFunc(body, func(found string) string {
			g := r.FindStringSubmatch(found)
			return g[1] + escaped(value) + g[2]
		})
	}
	return body
}

var (
	textValue = regexp.MustCompile(`>[^<>]+<|"[^"\\]*"`)
	segment   = regexp.MustCompile(`[^/?&=]+`)
)

// substitute replaces whole values of a body.
func substitute(body string, ids map[string]string) string {
	return textValue.ReplaceAllStringFunc(body, func(found string) string {
		if id, ok := ids[found[1:len(found)-1]]; ok {
			return found[:1] + id + found[len(found)-1:]
		}
		return found
	})
}

func substitutePath(uri string, ids map[string]string) string {
	return segment.ReplaceAllStringFunc(uri, func(found string) string {
		plain, err := url.PathUnescape(found)
		if err != nil {
			return found
		}
		name, value, tagged := strings.Cut(plain, ":") // id:urn:…
		if id, ok := ids[plain]; ok {
			return url.PathEscape(id)
		}
		if id, ok := ids[value]; ok && tagged {
			return name + ":" + id
		}
		return found
	})
}

// compareBodies compares two answers by structure, and learns the identifiers of the second.
func compareBodies(recorded, got string, ids map[string]string) (differences []string) {
	was, errWas := shapeOf(recorded)
	now, errNow := shapeOf(got)
	switch {
	case errWas != nil && errNow != nil:
		return nil // texts
	case errWas != nil:
		return []string{"an answer with a structure; the recorded one has none"}
	case errNow != nil:
		return []string{"an answer without a structure; the recorded one has one"}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		values, ok := now[path]
		if !ok {
			differences = append(differences, "not there: "+path)
			continue
		}
		for i, old := range was[path] {
			if i < len(values) && old != values[i] && isIdentifier(old) && isIdentifier(values[i]) {
				ids[old] = values[i]
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if _, ok := was[path]; !ok {
			differences = append(differences, "not recorded: "+path)
		}
	}
	return differences
}

var identifier = regexp.MustCompile(`^(?:[\w.]+-[\w-]*\d[\w-]*|session\[.*|urn:vmomi:.*|[0-9a-fA-F-]{32,}|\d+)$`)

// isIdentifier reports whether a value names an object, a version of a filter, a session or the like.
func isIdentifier(value string) bool { return identifier.MatchString(value) }

// shapeOf returns the values at each path of a body. Elements of a list share a path; so do properties of one name.
func shapeOf(body string) (map[string][]string, error) {
	body = strings.TrimSpace(body)
	all := map[string][]string{}
	if strings.HasPrefix(body, "<") {
		root, err := parseXML(body)
		if err != nil {
			return nil, err
		}
		content(root).shape(all, content(root).name)
		return all, nil
	}
	if body == "" {
		return all, nil
	}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return nil, err
	}
	jsonShape(all, "", v)
	return all, nil
}

func (n *node) shape(all map[string][]string, path string) {
	if len(n.children) == 0 {
		all[path] = append(all[path], n.text)
		return
	}
	all[path] = append(all[path], "")
	for _, c := range n.children {
		if p := c.property(); p != c {
			p.shape(all, path+"/"+c.name+"["+p.name+"]")
			continue
		}
		name := c.name
		if c.kind != "" && !c.reference && len(c.children) > 0 {
			name += "(" + c.kind + ")"
		}
		c.shape(all, path+"/"+name)
	}
}

func jsonShape(all map[string][]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		all[path] = append(all[path], "")
		for _, key := range slices.Sorted(maps.Keys(v)) {
			jsonShape(all, path+"/"+key, v[key])
		}
	case []any:
		for _, e := range v {
			jsonShape(all, path+"[]", e)
		}
		if len(v) == 0 {
			all[path+"[]"] = nil
		}
	default:
		all[path] = append(all[path], fmt.Sprint(v))
	}
}
