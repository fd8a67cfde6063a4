package vcenter_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// tokenVCenter implements the part of a vCenter that a login by token needs, which the simulator refuses. It accepts one certificate.
type tokenVCenter struct {
	knows string // base64, of the certificate

	mu        sync.Mutex
	calls     []string
	soap, api bool // logged in
}

const (
	soapNS    = "http://schemas.xmlsoap.org/soap/envelope/"
	trustNS   = "http://docs.oasis-open.org/ws-sx/ws-trust/200512"
	utilityNS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	assertion = `<saml2:Assertion xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion" ID="_token"><saml2:Subject/></saml2:Assertion>`
)

func (v *tokenVCenter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	text := string(body)
	switch {
	case r.URL.Path == "/sts/STSService":
		v.calls = append(v.calls, "Issue")
		if !strings.Contains(text, v.knows) || !strings.Contains(text, "SignatureValue") {
			soapFault(w, "ns0:FailedAuthentication", "Invalid credentials")
			return
		}
		now := time.Now().UTC()
		soapAnswer(w, fmt.Sprintf(`<RequestSecurityTokenResponseCollection xmlns="%s"><RequestSecurityTokenResponse>`+
			`<RequestedSecurityToken>%s</RequestedSecurityToken><Lifetime><Created xmlns="%s">%s</Created><Expires xmlns="%s">%s</Expires></Lifetime>`+
			`</RequestSecurityTokenResponse></RequestSecurityTokenResponseCollection>`, trustNS, assertion,
			utilityNS, now.Format("2006-01-02T15:04:05.000Z"), utilityNS, now.Add(time.Hour).Format("2006-01-02T15:04:05.000Z")))
	case strings.HasPrefix(r.URL.Path, "/rest/"):
		v.calls = append(v.calls, r.Method+" "+r.URL.Path)
		v.serveREST(w, r)
	case r.URL.Path != "/sdk":
		http.NotFound(w, r)
	default:
		v.serveSOAP(w, text)
	}
}

func (v *tokenVCenter) serveREST(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Authorization"), "SIGN token="):
		v.api = true
		fmt.Fprint(w, `{"value":"rest-session"}`)
	case r.Header.Get("vmware-api-session-id") != "rest-session":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodDelete:
		v.api = false
		fmt.Fprint(w, `{}`)
	default:
		fmt.Fprint(w, `{"value":[]}`)
	}
}

func (v *tokenVCenter) serveSOAP(w http.ResponseWriter, text string) {
	method := regexp.MustCompile(`Body[^>]*><(\w+)`).FindStringSubmatch(text)
	if method == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	v.calls = append(v.calls, method[1])
	switch method[1] {
	case "RetrieveServiceContent":
		soapAnswer(w, `<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval><rootFolder type="Folder">group-d1</rootFolder>`+
			`<propertyCollector type="PropertyCollector">propertyCollector</propertyCollector>`+
			`<about><name>fake</name><fullName>fake</fullName><vendor>x</vendor><version>8.0.3</version><build>1</build><osType>linux</osType>`+
			`<productLineId>vpx</productLineId><apiType>VirtualCenter</apiType><apiVersion>8.0.3.0</apiVersion></about>`+
			`<sessionManager type="SessionManager">SessionManager</sessionManager></returnval></RetrieveServiceContentResponse>`)
	case "LoginByToken":
		if !strings.Contains(text, `ID="_token"`) || !strings.Contains(text, "SignatureValue") {
			soapFault(w, "ServerFaultCode", "no token, or one that nobody vouches for")
			return
		}
		v.soap = true
		http.SetCookie(w, &http.Cookie{Name: "vmware_soap_session", Value: "soap-session", Path: "/", Secure: true})
		soapAnswer(w, `<LoginByTokenResponse xmlns="urn:vim25"><returnval><key>1</key><userName>u</userName><fullName>u</fullName>`+
			`<loginTime>2026-01-01T00:00:00Z</loginTime><lastActiveTime>2026-01-01T00:00:00Z</lastActiveTime><locale>en</locale>`+
			`<messageLocale>en</messageLocale></returnval></LoginByTokenResponse>`)
	case "Logout":
		v.soap = false
		soapAnswer(w, `<LogoutResponse xmlns="urn:vim25"/>`)
	default:
		soapFault(w, "ServerFaultCode", "unknown method "+method[1])
	}
}

func soapAnswer(w http.ResponseWriter, body string) {
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="%s"><soapenv:Body>%s</soapenv:Body></soapenv:Envelope>`, soapNS, body)
}

func soapFault(w http.ResponseWriter, code, text string) {
	w.WriteHeader(http.StatusInternalServerError)
	soapAnswer(w, fmt.Sprintf(`<soapenv:Fault><faultcode>%s</faultcode><faultstring>%s</faultstring></soapenv:Fault>`, code, text))
}

// serve starts the vCenter; the returned configuration logs in with creds.
func (v *tokenVCenter) serve(t *testing.T, creds vcenter.Credentials) vcenter.Config {
	t.Helper()
	ca := newCA(t, "test")
	pair, err := ca.Sign(cert.Leaf{CommonName: "vc", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(v)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return vcenter.Config{
		Name: "vc", Server: u.Hostname(), Port: port, CAData: ca.Cert, UserAgent: agent, CallTimeout: 5 * time.Second,
		Credentials: func(context.Context) (vcenter.Credentials, error) { return creds, nil },
	}
}
