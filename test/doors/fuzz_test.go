package doors

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
)

// paths are the beginnings of the paths that are fuzzed. pkg/sim has a separate fuzzer for the XML of /sdk, pkg/sim/rest one for tags; what a
// fuzzer makes of the paths of files is not for this machine.
var paths = []string{
	"/lookupservice/", "/sso-adminserver/", "/sts/", "/eam/", "/vsanHealth", "/pbm", "/vslm/", "/nfc/", "/about", "/debug/vars", "/cryptomanager/",
	"/sdk", "/rest/vcenter/", "/api/vcenter/", "/api/esx/", "/api/appliance/", "/rest/appliance/", "/api/cis/tasks", "/rest/com/vmware/content/",
}

// public are the doors that answer everybody: their contents say nothing about the inventory, or the path has the secret.
var public = regexp.MustCompile(`^/(about$|lookupservice/|nfc/session\[)`)

// opening are the calls to /sdk that come before a login.
var opening = regexp.MustCompile(`<(\w+:)?(RetrieveServiceContent|Login)\b`)

// soapHeader has sessions and tokens.
var soapHeader = regexp.MustCompile(`(?s)<(\w+:)?Header.*</(\w+:)?Header>`)

// FuzzDoors sends requests that are made of those of clients, within a session and without one. Each gets an answer, in time; one
// without a session changes nothing. pick selects the value in the body that is replaced by value, none when 0.
func FuzzDoors(f *testing.F) {
	s := ours(f)
	for _, api := range apis {
		api.calls(s)
	}
	kinds := map[string]int{}
	for _, c := range s.calls {
		kind := named(c.Method)
		if kinds[kind]++; kinds[kind] > 2 {
			continue
		}
		f.Add(true, c.Verb, c.URI, c.Request.Body, uint16(0), "")
		f.Add(false, c.Verb, c.URI, c.Request.Body, uint16(0), "")
		for pick, value := range []string{"", "-1", "vm-999999", "]]>", `{"a":[`} {
			f.Add(true, c.Verb, c.URI, c.Request.Body, uint16(pick+1), value)
		}
		for _, verb := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			f.Add(true, verb, c.URI, "", uint16(0), "")
			f.Add(false, verb, c.URI+"/x?action=y", "null", uint16(0), "")
		}
	}
	f.Fuzz(func(t *testing.T, login bool, verb, uri, body string, pick uint16, value string) {
		s := *s
		s.t = t // a target must not use f
		u, err := url.ParseRequestURI(uri)
		if err != nil || u.Host != "" || !slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(u.Path, p) }) {
			return
		}
		if u.Path == "/sdk" && strings.Contains(body, "ImportVApp") {
			return // the VM comes later, in the midst of another target
		}
		var before string
		if !login {
			before, body = s.state(t), soapHeader.ReplaceAllString(body, "")
		}
		answer := s.ask(t, login, verb, u, swap(body, int(pick), value))
		if answer == nil || login {
			return
		}
		if answer.StatusCode < http.StatusMultipleChoices && !public.MatchString(u.Path) && !opening.MatchString(body) && verb != http.MethodOptions {
			t.Errorf("%s %s without a session: %s", verb, uri, answer.Status)
		}
		if after := s.state(t); after != before {
			t.Errorf("%s %s without a session changes\n%s\nto\n%s", verb, uri, before, after)
		}
	})
}

// slots are the values in a body: texts, attributes, numbers.
var slots = regexp.MustCompile(`>([^<>]+)<|"([^"\\]*)"|:\s*(\d+|true|false|null)`)

func swap(body string, pick int, value string) string {
	all := slots.FindAllStringSubmatchIndex(body, -1)
	if pick == 0 || len(all) == 0 {
		return body
	}
	at := all[(pick-1)%len(all)]
	for i := 2; i < len(at); i += 2 {
		if at[i] >= 0 {
			return body[:at[i]] + value + body[at[i+1]:]
		}
	}
	return body
}

// ask sends a request, and requires an answer. It returns nil for what is no request.
func (s *side) ask(t *testing.T, login bool, verb string, u *url.URL, body string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	to, err := url.Parse(s.base)
	s.must(err)
	to.Path, to.RawPath, to.RawQuery = u.Path, u.RawPath, u.RawQuery
	req, err := http.NewRequestWithContext(ctx, verb, to.String(), strings.NewReader(body))
	if err != nil || verb == http.MethodConnect {
		return nil
	}
	soap := strings.HasPrefix(strings.TrimSpace(body), "<")
	if soap {
		req.Header.Set("Content-Type", "text/xml")
		req.Header.Set("SOAPAction", "urn:vim25/8.0.3.0")
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if login {
		req.Header.Set("Vmware-Api-Session-Id", s.rest.SessionID())
		for _, c := range s.vim.Jar.Cookies(to) {
			req.AddCookie(c)
		}
	}
	res, err := s.vim.DefaultTransport().RoundTrip(req)
	if err != nil {
		t.Fatalf("no answer: %v\n%s %s\n%q", err, verb, to.RequestURI(), body)
	}
	answer, err := io.ReadAll(res.Body)
	if closed := res.Body.Close(); err != nil || closed != nil {
		t.Fatalf("half an answer: %v\n%s %s\n%q", errors.Join(err, closed), verb, to.RequestURI(), body)
	}
	if bytes.Contains(answer, []byte("panic")) {
		t.Fatalf("%s %s\n%q\n%s\n%s", verb, to.RequestURI(), body, res.Status, answer)
	}
	if soap && strings.Contains(res.Header.Get("Content-Type"), "xml") && res.StatusCode != http.StatusNotFound {
		if err := xml.Unmarshal(answer, new(struct{ XMLName xml.Name })); err != nil {
			t.Fatalf("%s %s\n%q\n%s: %v\n%s", verb, to.RequestURI(), body, res.Status, err, answer)
		}
	}
	if login && (res.StatusCode == http.StatusUnauthorized || bytes.Contains(answer, []byte("NotAuthenticated")) || bytes.Contains([]byte(body), []byte("Logout"))) {
		_ = session.NewManager(s.vim).Login(ctx, s.user) // what the fuzzer has ended
		_ = s.rest.Login(ctx, s.user)
	}
	return res
}

// state is what the APIs list, to an administrator.
func (s *side) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{
		"/api/vcenter/vm", "/rest/vcenter/cluster/modules", "/api/vcenter/namespaces/instances", "/api/vcenter/namespace-management/virtual-machine-classes",
		"/api/appliance/access/ssh", "/api/appliance/shutdown", "/api/esx/settings/depots/offline", "/api/vcenter/consumption-domains/zones",
		"/rest/com/vmware/content/library", "/rest/com/vmware/cis/tagging/category",
	} {
		for range 2 { // the second with a new session
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.base+path, http.NoBody)
			s.must(err)
			req.Header.Set("Vmware-Api-Session-Id", s.rest.SessionID())
			res, err := s.vim.DefaultTransport().RoundTrip(req)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			answer, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			s.must(err)
			if res.StatusCode == http.StatusUnauthorized {
				s.must(s.rest.Login(context.Background(), s.user))
				continue
			}
			parts := strings.FieldsFunc(string(answer), func(r rune) bool { return strings.ContainsRune("{}[],", r) })
			slices.Sort(parts) // vcsim lists maps in any order
			all.WriteString(path + " " + res.Status + " " + strings.Join(parts, " ") + "\n")
			break
		}
	}
	return all.String()
}
