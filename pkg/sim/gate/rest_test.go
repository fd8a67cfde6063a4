package gate

import (
	"net/http"
	"net/url"
	"testing"
)

func TestSOAPMethod(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"plain", `<Envelope><Body><Login xmlns="urn:vim25"><userName>x</userName></Login></Body></Envelope>`, "Login"},
		{"prefixes", `<s:Envelope xmlns:s="x"><s:Header><a/></s:Header><s:Body><v:PowerOnVM_Task xmlns:v="urn:vim25"/></s:Body></s:Envelope>`, "PowerOnVM_Task"},
		{"comment and space", "<e>\n<Body>\n<!-- Logout -->\n<Logout/></Body></e>", "Logout"},
		{"cut off later", `<e><Body><CurrentTime><_th`, "CurrentTime"},
		{"no body", `<e><Login/></e>`, ""},
		{"empty body", `<e><Body></Body></e>`, ""},
		{"not XML", `{"a": 1}`, ""},
		{"nothing", ``, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := readSOAP([]byte(tc.body)).method; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRESTMethod(t *testing.T) {
	for _, tc := range []struct{ method, url, want string }{
		{"POST", "/rest/com/vmware/cis/session", "POST /rest/com/vmware/cis/session"},
		{"POST", "/rest/com/vmware/cis/session?~action=get", "POST /rest/com/vmware/cis/session?~action=get"},
		{
			"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:vmomi:x:GLOBAL?~action=attach&x=1",
			"POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach",
		},
		{"GET", "/api/content/library/7a3f9c1e-52b0-4c7e-9f44-0a1b2c3d4e5f", "GET /api/content/library/{id}"},
		{"PUT", "/folder/vm/vm.vmx?dcPath=dc&dsName=ds", "PUT /folder"},
		{"GET", "/", "GET /"},
	} {
		u, err := url.Parse(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := restMethod(&http.Request{Method: tc.method, URL: u}); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestStatsAreBounded(t *testing.T) {
	s := newStats()
	for i := range 2 * maxStats {
		s.add(Call{Method: "M", Client: string(rune(i + 1)), Status: 200})
	}
	if len(s.by) > maxStats+1 {
		t.Errorf("%d pairs are told apart", len(s.by))
	}
	if n := s.by[statKey{Other, Other}].Calls; n != maxStats {
		t.Errorf("%d others, want %d", n, maxStats)
	}
}

func BenchmarkReadSOAP(b *testing.B) {
	body := []byte(`<?xml version="1.0"?><Envelope><Header><operationID>x</operationID></Header><Body><RetrievePropertiesEx xmlns="urn:vim25"><_this/></RetrievePropertiesEx></Body></Envelope>`)
	for b.Loop() {
		readSOAP(body)
	}
}
