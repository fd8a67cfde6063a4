package gate

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
)

func TestReadSOAP(t *testing.T) {
	vm := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	for _, tc := range []struct {
		name, body string
		want       soapCall
	}{
		{
			"plain", `<Envelope><Body><PowerOnVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this></PowerOnVM_Task></Body></Envelope>`,
			soapCall{"PowerOnVM_Task", "urn:vim25", vm},
		},
		{"prefixes", `<s:Envelope><s:Header><a b='>'/></s:Header><s:Body id="1"><v:Login xmlns:v="urn:x"><v:_this xsi:type="v:M" type='SessionManager' >
			S&amp;M </v:_this></v:Login></s:Body></s:Envelope>`, soapCall{"Login", "urn:x", types.ManagedObjectReference{Type: "SessionManager", Value: "S&M"}}},
		{"comment and CDATA", `<?xml version="1.0"?><!DOCTYPE x><e><!-- <Body><No/> --><h><![CDATA[<Body><No/>]]></h><Body> <Logout/></Body></e>`, soapCall{method: "Logout"}},
		{"cut off in _this", `<e><Body><CurrentTime><_this type="Serv`, soapCall{method: "CurrentTime", this: types.ManagedObjectReference{}}},
		{"cut off in an attribute", `<e><Body><CurrentTime xmlns="urn`, soapCall{method: "CurrentTime"}},
		{"no _this", `<e><Body><Login><userName>x</userName></Login></Body></e>`, soapCall{method: "Login"}},
		{"nothing", `<`, soapCall{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, readSOAP([]byte(tc.body)), cmp.AllowUnexported(soapCall{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMentioned(t *testing.T) {
	body := `<e><Body><RetrievePropertiesEx><_this type="PropertyCollector">propertyCollector</_this><specSet><propSet><type>VirtualMachine</type></propSet>
		<objectSet xsi:type="ObjectSpec"><obj type="VirtualMachine">vm-7</obj><skip>false</skip></objectSet></specSet></RetrievePropertiesEx></Body></e>`
	want := []types.ManagedObjectReference{{Type: "PropertyCollector", Value: "propertyCollector"}, {Type: "VirtualMachine", Value: "vm-7"}}
	if diff := cmp.Diff(want, mentioned([]byte(body))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = []types.ManagedObjectReference{{Type: "VirtualMachine", Value: "vm-1"}, {Type: "HostSystem", Value: "host-2"}}
	got := mentionedJSON([]byte(`{"object_ids":[{"id":"vm-1","type":"VirtualMachine"},{"type":"HostSystem","id":"host-2"},{"id":3}]}`))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := mentionedJSON([]byte("{")); got != nil {
		t.Errorf("%v", got)
	}
}

func TestRESTErrorType(t *testing.T) {
	for body, want := range map[string]string{
		`{"error_type":"NOT_FOUND"}`:                            "NOT_FOUND",
		`{"type":"com.vmware.vapi.std.errors.unauthenticated"}`: "UNAUTHENTICATED",
		`oops`: "",
	} {
		if got := restErrorType([]byte(body)); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}

func TestRing(t *testing.T) {
	for _, size := range []int{-1, 1, 3} {
		g := &Gate{recent: newRing(size)}
		for i := range 5 {
			g.recent.add(Call{In: int64(i)})
		}
		got := g.Recent()
		if len(got) != max(0, size) {
			t.Fatalf("%d of %d calls", len(got), size)
		}
		for i, c := range got {
			if c.In != int64(5-size+i) {
				t.Errorf("size %d: call %d is %d", size, i, c.In)
			}
		}
	}
}

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
