package guard_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	vimsoap "github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
)

// solution is a certificate as a solution user of vCenter has one.
func solution(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "solution"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// part is what is between two texts, with both.
func part(t *testing.T, s, from, until string) string {
	t.Helper()
	begin, end := strings.Index(s, from), strings.LastIndex(s, until)
	if begin < 0 || end < begin {
		t.Fatalf("no %s in %s", from, s)
	}
	return s[begin : end+len(until)]
}

// TestSigned sends what govmomi signs: a request for a token, and the login with one. A check of the signatures sums
// up the body, the times, what was signed, and the token, which is signed itself: those come through byte by byte.
func TestSigned(t *testing.T) {
	const assertion = `<saml2:Assertion xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion" ID="_1" Version="2.0"><saml2:Issuer Format="x">a &amp; b</saml2:Issuer>` +
		`<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignatureValue>QUJD` + "\n" + `REVG&#xD;` + `</ds:SignatureValue></ds:Signature></saml2:Assertion>`
	var passed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.URL.Host = ""
		in, err := guard.ParseIntent(r, body)
		if err != nil || in.Write {
			t.Errorf("%s: %+v, %v: %s", r.URL, in, err, body)
			return
		}
		out, err := io.ReadAll(in.Request(r).Body)
		if err != nil {
			t.Error(err)
		}
		pieces := [][2]string{{"<soap:Body", "</soap:Body>"}, {"<wsu:Timestamp", "</wsu:Timestamp>"}, {"<ds:SignedInfo", "</ds:SignedInfo>"}}
		if in.Operation == "LoginByToken" {
			pieces = append(pieces, [2]string{"<saml2:Assertion", "</saml2:Assertion>"})
		}
		for _, piece := range pieces {
			if sent, got := part(t, string(body), piece[0], piece[1]), part(t, string(out), piece[0], piece[1]); sent != got {
				t.Errorf("%s: sent\n%s\nwent on as\n%s", in.Operation, sent, got)
			}
		}
		passed = append(passed, in.Operation)
		http.Error(w, "seen", http.StatusTeapot)
	}))
	defer server.Close()
	certificate := solution(t)
	u, err := url.Parse(server.URL + sts.Path)
	if err != nil {
		t.Fatal(err)
	}
	sc := vimsoap.NewClient(u, true)
	tokens := &sts.Client{Client: sc, RoundTripper: sc}
	_, err = tokens.Issue(t.Context(), sts.TokenRequest{Certificate: certificate, Userinfo: url.UserPassword("a", "b"), Delegatable: true})
	if err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("%v", err)
	}
	u.Path = vim25.Path
	sc = vimsoap.NewClient(u, true)
	sc.Namespace, sc.Version = "urn:"+vim25.Namespace, vim25.Version
	sessions := types.ManagedObjectReference{Type: "SessionManager", Value: "SessionManager"}
	vim := &vim25.Client{Client: sc, RoundTripper: sc, ServiceContent: types.ServiceContent{SessionManager: &sessions}}
	signer := &sts.Signer{Certificate: certificate, Token: assertion}
	err = session.NewManager(vim).LoginByToken(vim.WithHeader(t.Context(), vimsoap.Header{Security: signer}))
	if err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("%v", err)
	}
	if got := strings.Join(passed, " "); got != "RequestSecurityToken LoginByToken" {
		t.Errorf("passed: %q", got)
	}
}
