// Package sts issues tokens for the users of a vCenter, and knows the tokens that it issued: the Security Token Service of SSO.
//
// A token is a SAML assertion with a random identifier. It is valid in the vCenter that issued it, because that vCenter remembers
// the identifier: the assertion has no signature. Tokens for the holder of a key are not issued.
//
// Floor 2, inside pkg/sim.
package sts

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Lifetime is the life of a token whose request names none; MaxLifetime is the longest.
const (
	Lifetime    = 5 * time.Minute
	MaxLifetime = 30 * 24 * time.Hour
)

// maxTokens limits the memory of the issuer. The oldest tokens end first.
const maxTokens = 10_000

// Tokens are the issued tokens of one vCenter. The zero value is ready. Its methods are safe for concurrent use.
type Tokens struct {
	mu    sync.Mutex
	valid map[string]issued
	order []string
}

type issued struct {
	user    string
	expires time.Time
}

// Issue returns the assertion of a new token for a user.
func (t *Tokens) Issue(user string, life time.Duration) (assertion string, expires time.Time) {
	if life <= 0 {
		life = Lifetime
	}
	now := time.Now().UTC()
	expires = now.Add(min(life, MaxLifetime))
	id := "_" + rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.valid == nil {
		t.valid = map[string]issued{}
	}
	t.valid[id] = issued{user, expires}
	t.order = append(t.order, id)
	for len(t.order) > maxTokens || len(t.order) > 0 && now.After(t.valid[t.order[0]].expires) {
		delete(t.valid, t.order[0])
		t.order = t.order[1:]
	}
	name := user
	if at := strings.LastIndexByte(user, '@'); at > 0 {
		name = user[:at] + "@" + strings.ToUpper(user[at+1:])
	}
	return fmt.Sprintf(`<saml2:Assertion xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion" ID="%s" IssueInstant="%s" Version="2.0">`+
		`<saml2:Issuer Format="urn:oasis:names:tc:SAML:2.0:nameid-format:entity">vsphere-sandbox</saml2:Issuer>`+
		`<saml2:Subject><saml2:NameID Format="http://schemas.xmlsoap.org/claims/UPN">%s</saml2:NameID>`+
		`<saml2:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml2:SubjectConfirmationData NotOnOrAfter="%[4]s"/>`+
		`</saml2:SubjectConfirmation></saml2:Subject><saml2:Conditions NotBefore="%[2]s" NotOnOrAfter="%[4]s"/></saml2:Assertion>`,
		id, now.Format(layout), escaped(name), expires.Format(layout)), expires
}

// layout is that of times in tokens.
const layout = "2006-01-02T15:04:05.000Z"

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// User returns the user of a token that is valid, by the identifier of its assertion.
func (t *Tokens) User(id string) (user string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.valid[id]
	if !ok || time.Now().After(i.expires) {
		return "", false
	}
	return i.user, true
}

// Assertion is the part of a token that identifies it.
type Assertion struct {
	ID string `xml:"ID,attr"`
}

// Bearer returns the user of the token of an HTTP request: the header "Authorization: SIGN token=…", as REST has it.
func (t *Tokens) Bearer(authorization string) (user string, ok bool) {
	_, after, ok := strings.Cut(authorization, `token="`)
	if !ok || !strings.HasPrefix(authorization, "SIGN ") {
		return "", false
	}
	text, _, _ := strings.Cut(after, `"`)
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", false
	}
	token, err := io.ReadAll(io.LimitReader(unpacked, maxBody))
	if err != nil {
		return "", false
	}
	var a Assertion
	if err := xml.Unmarshal(token, &a); err != nil {
		return "", false
	}
	return t.User(a.ID)
}

// maxBody limits requests.
const maxBody = 1 << 20

// request is what the service reads of a request: the credentials of the header, and the token to renew.
type request struct {
	Security struct {
		User struct {
			Name     string `xml:"Username"`
			Password string
		} `xml:"UsernameToken"`
		Assertion Assertion
		Binary    string `xml:"BinarySecurityToken"`
	} `xml:"Header>Security"`
	Body struct {
		Lifetime struct{ Created, Expires string }
		Renew    struct{ Assertion Assertion } `xml:"RenewTarget"`
	} `xml:"Body>RequestSecurityToken"`
}

func (r *request) life() time.Duration {
	from, err := time.Parse(layout, r.Body.Lifetime.Created)
	to, err2 := time.Parse(layout, r.Body.Lifetime.Expires)
	if err != nil || err2 != nil {
		return 0
	}
	return to.Sub(from)
}

// Handler serves Issue and Renew. check reports whether the password is the user's. Tokens are issued for a password, or for another
// valid token; certificates are refused.
func (t *Tokens) Handler(check func(user, password string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in request
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil {
			err = xml.Unmarshal(body, &in)
		}
		if err != nil {
			fail(w, "InvalidRequest", "The request cannot be read: "+err.Error())
			return
		}
		var user string
		ok := false
		action := path.Base(strings.Trim(r.Header.Get("SOAPAction"), `"`))
		switch s := &in.Security; {
		case action == "Renew":
			user, ok = t.User(in.Body.Renew.Assertion.ID)
		case action != "Issue":
			fail(w, "InvalidRequest", "The action "+action+" is not supported.")
			return
		case s.User.Name != "":
			user, ok = s.User.Name, check(s.User.Name, s.User.Password)
		case s.Assertion.ID != "":
			user, ok = t.User(s.Assertion.ID)
		}
		if !ok {
			fail(w, "FailedAuthentication", "Invalid credentials")
			return
		}
		assertion, expires := t.Issue(user, in.life())
		answer := fmt.Sprintf(`<wst:RequestSecurityTokenResponse><wst:RequestedSecurityToken>%s</wst:RequestedSecurityToken>`+
			`<wst:Lifetime xmlns:wsu="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd">`+
			`<wsu:Created>%s</wsu:Created><wsu:Expires>%s</wsu:Expires></wst:Lifetime></wst:RequestSecurityTokenResponse>`,
			assertion, time.Now().UTC().Format(layout), expires.Format(layout))
		if action == "Issue" {
			answer = `<wst:RequestSecurityTokenResponseCollection xmlns:wst="http://docs.oasis-open.org/ws-sx/ws-trust/200512">` + answer +
				`</wst:RequestSecurityTokenResponseCollection>`
		} else {
			answer = strings.Replace(answer, ">", ` xmlns:wst="http://docs.oasis-open.org/ws-sx/ws-trust/200512">`, 1)
		}
		write(w, http.StatusOK, answer)
	})
}

func write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, xml.Header+`<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>`+body+`</S:Body></S:Envelope>`)
}

func fail(w http.ResponseWriter, code, text string) {
	write(w, http.StatusInternalServerError, `<S:Fault><faultcode xmlns:ns0="http://docs.oasis-open.org/ws-sx/ws-trust/200512/">ns0:`+
		code+`</faultcode><faultstring>`+escaped(text)+`</faultstring></S:Fault>`)
}
