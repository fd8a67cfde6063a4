package sts

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func idOf(t *testing.T, assertion string) string {
	t.Helper()
	var a Assertion
	if err := xml.Unmarshal([]byte(assertion), &a); err != nil || a.ID == "" {
		t.Fatalf("%q in %s, %v", a.ID, assertion, err)
	}
	return a.ID
}

func bearer(assertion string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(assertion))
	_ = z.Close()
	return `SIGN token="` + base64.StdEncoding.EncodeToString(b.Bytes()) + `"`
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tokens Tokens
		assertion, _ := tokens.Issue(`a<b@vsphere.local`, time.Minute)
		if !strings.Contains(assertion, "a&lt;b@VSPHERE.LOCAL") {
			t.Errorf("the name is not escaped: %s", assertion)
		}
		id := idOf(t, assertion)
		time.Sleep(59 * time.Second)
		if user, ok := tokens.User(id); !ok || user != `a<b@vsphere.local` {
			t.Errorf("%q, %t", user, ok)
		}
		if user, ok := tokens.Bearer(bearer(assertion)); !ok || user != `a<b@vsphere.local` {
			t.Errorf("in a header: %q, %t", user, ok)
		}
		time.Sleep(2 * time.Second)
		if _, ok := tokens.User(id); ok {
			t.Error("valid after its end")
		}
		long, expires := tokens.Issue("a", 1000*time.Hour*24)
		if time.Until(expires) > MaxLifetime || len(tokens.valid) != 1 {
			t.Errorf("until %s, %d tokens", expires, len(tokens.valid))
		}
		for range maxTokens {
			tokens.Issue("b", 0)
		}
		if _, ok := tokens.User(idOf(t, long)); ok || len(tokens.valid) != maxTokens {
			t.Errorf("%d tokens", len(tokens.valid))
		}
	})
}

func TestBearer(t *testing.T) {
	var tokens Tokens
	for _, header := range []string{
		"", "SIGN", `SIGN token="`, `SIGN token="!"`, `SIGN token="YQ=="`, bearer("no XML"), bearer(`<Assertion ID=""/>`),
		bearer(`<Assertion ID="_x"/>`), strings.Replace(bearer(`<Assertion ID="_x"/>`), "SIGN", "Basic", 1),
	} {
		if user, ok := tokens.Bearer(header); ok {
			t.Errorf("%s: %s", header, user)
		}
	}
}

// send makes a request and returns its status and answer.
func send(t testing.TB, h http.Handler, action, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sts/STSService", strings.NewReader(body))
	r.Header.Set("SOAPAction", action)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const issue = `"http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/Issue"`

func envelope(header, body string) string {
	return `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Header><wsse:Security xmlns:wsse="x">` + header +
		`</wsse:Security></S:Header><S:Body><RequestSecurityToken>` + body + `</RequestSecurityToken></S:Body></S:Envelope>`
}

func TestHandler(t *testing.T) {
	var tokens Tokens
	h := tokens.Handler(func(user, password string) bool { return user == "joe" && password == "p" })
	user := func(password string) string {
		return envelope(`<wsse:UsernameToken><wsse:Username>joe</wsse:Username><wsse:Password>`+password+`</wsse:Password></wsse:UsernameToken>`,
			`<Lifetime><Created>2026-01-01T00:00:00.000Z</Created><Expires>2026-01-01T01:00:00.000Z</Expires></Lifetime>`)
	}
	status, answer := send(t, h, issue, user("p"))
	if status != http.StatusOK || len(tokens.valid) != 1 {
		t.Fatalf("%d %s", status, answer)
	}
	var id string
	for id = range tokens.valid {
		if left := time.Until(tokens.valid[id].expires); left < 59*time.Minute || left > time.Hour {
			t.Errorf("lives for %s", left)
		}
	}
	if status, answer = send(t, h, issue, envelope(`<saml2:Assertion xmlns:saml2="y" ID="`+id+`"/>`, "")); status != http.StatusOK {
		t.Errorf("for a token: %d %s", status, answer)
	}
	for name, tc := range map[string]struct{ action, body, want string }{
		"wrong password": {issue, user("q"), "FailedAuthentication"},
		"nothing":        {issue, envelope("", ""), "FailedAuthentication"},
		"a certificate":  {issue, envelope("<wsse:BinarySecurityToken>x</wsse:BinarySecurityToken>", ""), "FailedAuthentication"},
		"another token":  {issue, envelope(`<saml2:Assertion xmlns:saml2="y" ID="_none"/>`, ""), "FailedAuthentication"},
		"renew nothing":  {`"…/Renew"`, envelope("", ""), "FailedAuthentication"},
		"validate":       {`"…/Validate"`, user("p"), "not supported"},
		"no XML":         {issue, "x", "InvalidRequest"},
	} {
		if status, answer := send(t, h, tc.action, tc.body); status != http.StatusInternalServerError || !strings.Contains(answer, tc.want) {
			t.Errorf("%s: %d %s, want %s", name, status, answer, tc.want)
		}
	}
}

func FuzzHandler(f *testing.F) {
	f.Add(issue, envelope(`<UsernameToken><Username>a</Username><Password>b</Password></UsernameToken>`, ""))
	f.Add(`"/Renew"`, envelope("", `<RenewTarget><Assertion ID="_1"/></RenewTarget>`))
	f.Add("", "<")
	var tokens Tokens
	h := tokens.Handler(func(string, string) bool { return false })
	f.Fuzz(func(t *testing.T, action, body string) {
		if status, _ := send(t, h, action, body); status == http.StatusOK {
			t.Errorf("%q %q: a token for no one", action, body)
		}
	})
}
