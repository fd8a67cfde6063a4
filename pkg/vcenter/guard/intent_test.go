package guard_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// soap is a request that calls a method.
func soap(inner string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Header><operationID>1</operationID></Header><Body>` + inner + `</Body></Envelope>`
}

const this = `<_this type="VirtualMachine">vm-1</_this>`

// kind says in short what a request is taken for: what of a VM it changes, "read", "write" for what is never let through,
// "unknown" for what is on no list.
func kind(in guard.Intent, err error) string {
	switch {
	case err != nil:
		return "unknown"
	case !in.Write:
		return "read"
	case in.VM.Value == "":
		return "write"
	}
	return in.Do.Kind
}

// request is one as govmomi sends it.
func request(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.URL.Host = "" // a server's request has none
	switch {
	case strings.HasPrefix(body, "<"):
		r.Header.Set("Content-Type", `text/xml; charset="utf-8"`)
	case method == http.MethodPost:
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func look(method, target, body string) (guard.Intent, error) {
	return guard.ParseIntent(request(method, target, body), []byte(body))
}

func TestSOAP(t *testing.T) {
	const pc = `<_this type="PropertyCollector">pc</_this>`
	attach := func(inner string) string {
		return `<CnsAttachVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">m</_this>` + inner + `</CnsAttachVolume>`
	}
	for _, tc := range []struct{ path, body, want string }{
		{"/sdk", `<RetrievePropertiesEx xmlns="urn:vim25">` + pc + `</RetrievePropertiesEx>`, "read"},
		{"/sdk", `<WaitForUpdatesEx xmlns="urn:vim25">` + pc + `</WaitForUpdatesEx>`, "read"},
		{"/sdk/vimService", `<WaitForUpdatesEx xmlns="urn:vim25">` + pc + `</WaitForUpdatesEx>`, "read"},
		{"/sdk", `<Login xmlns="urn:vim25"><_this type="SessionManager">s</_this><userName>u</userName></Login>`, "read"},
		{"/sdk", `<SearchDatastore_Task xmlns="urn:vim25"><_this type="HostDatastoreBrowser">b</_this></SearchDatastore_Task>`, "read"},
		{"/vsanHealth", `<CnsQueryVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">m</_this></CnsQueryVolume>`, "read"},
		{"/pbm", `<PbmQueryProfile xmlns="urn:pbm"><_this type="PbmProfileProfileManager">m</_this></PbmQueryProfile>`, "read"},
		{"/vslm/sdk", `<VslmRetrieveVStorageObject xmlns="urn:vslm"><_this type="VslmVStorageObjectManager">m</_this></VslmRetrieveVStorageObject>`, "read"},
		{"/lookupservice/sdk", `<List xmlns="urn:lookup"><_this type="LookupServiceRegistration">m</_this></List>`, "read"},
		{"/sso-adminserver/sdk/vsphere.local", `<FindUsers xmlns="urn:sso"><_this type="S">m</_this></FindUsers>`, "read"},
		{"/sts/STSService/vsphere.local", `<RequestSecurityToken xmlns="http://docs.oasis-open.org/ws-sx/ws-trust/200512" Context="x"/>`, "read"},

		// A service knows its own methods only, and a path that is none of a service's knows none.
		{"/pbm", `<RetrievePropertiesEx xmlns="urn:vim25">` + pc + `</RetrievePropertiesEx>`, "unknown"},
		{"/vsanHealth", `<CnsQueryVolume xmlns="urn:pbm"><_this type="CnsVolumeManager">m</_this></CnsQueryVolume>`, "unknown"},
		{"/sdk", `<CnsQueryVolume xmlns="urn:vim25"><_this type="CnsVolumeManager">m</_this></CnsQueryVolume>`, "write"},
		{"/sdk", `<RetrievePropertiesEx>` + pc + `</RetrievePropertiesEx>`, "unknown"},
		{"/folder/x", `<CurrentTime xmlns="urn:vim25"><_this type="ServiceInstance">si</_this></CurrentTime>`, "unknown"},
		{"/sdk/x", `<CurrentTime xmlns="urn:vim25"><_this type="ServiceInstance">si</_this></CurrentTime>`, "unknown"},
		{"/sdk/", `<CurrentTime xmlns="urn:vim25"><_this type="ServiceInstance">si</_this></CurrentTime>`, "unknown"},
		{"/sdk?x=y", `<CurrentTime xmlns="urn:vim25"><_this type="ServiceInstance">si</_this></CurrentTime>`, "unknown"},
		{"/eam/sdk", `<QueryAgency xmlns="urn:eam"><_this type="A">a</_this></QueryAgency>`, "unknown"},
		{"/sts/STSService", `<Cancel xmlns="http://docs.oasis-open.org/ws-sx/ws-trust/200512"/>`, "unknown"},

		{"/sdk", `<PowerOffVM_Task xmlns="urn:vim25">` + this + `</PowerOffVM_Task>`, "power"},
		{"/sdk", `<v:PowerOnVM_Task xmlns:v="urn:vim25"><v:_this type="VirtualMachine">vm-1</v:_this></v:PowerOnVM_Task>`, "power"},
		{"/sdk", `<SuspendVM_Task xmlns="urn:vim25">` + this + `</SuspendVM_Task>`, "power"},
		{"/sdk", `<ShutdownGuest xmlns="urn:vim25">` + this + `</ShutdownGuest>`, "ask-guest"},
		{"/sdk", `<StandbyGuest xmlns="urn:vim25">` + this + `</StandbyGuest>`, "ask-guest"},
		{"/sdk", `<ResetVM_Task xmlns="urn:vim25">` + this + `</ResetVM_Task>`, "reset"},
		{"/sdk", `<Rename_Task xmlns="urn:vim25">` + this + `<newName>n</newName></Rename_Task>`, "rename"},
		{"/sdk", `<Rename_Task xmlns="urn:vim25">` + this + `<newName>n</newName><newName>m</newName></Rename_Task>`, "write"},
		{"/sdk", `<Rename_Task xmlns="urn:vim25"><_this type="Folder">group-1</_this><newName>n</newName></Rename_Task>`, "write"},
		{"/sdk", `<PowerOnVM_Task xmlns="urn:vim25">` + this + `<host type="HostSystem">host-1</host></PowerOnVM_Task>`, "write"}, // moves it
		{"/sdk", `<PowerOffVM_Task xmlns="urn:vim25">` + this + `<_this type="VirtualMachine">vm-2</_this></PowerOffVM_Task>`, "unknown"},
		{"/sdk", `<PowerOffVM_Task xmlns="urn:vim25">` + this + `<_this xmlns="urn:x" type="VirtualMachine">vm-2</_this></PowerOffVM_Task>`, "unknown"},
		{"/sdk", `<PowerOffVM_Task xmlns="urn:vim25"><_this type="HostSystem">host-1</_this></PowerOffVM_Task>`, "write"},
		{"/sdk", `<PowerOffVM_Task xmlns="urn:vim25"><_this type="VirtualMachine" href="#2">vm-1</_this></PowerOffVM_Task>`, "unknown"},
		{"/sdk", `<PowerOffVM_Task xmlns="urn:vim25"><_this type="VirtualMachine" type="Folder">vm-1</_this></PowerOffVM_Task>`, "unknown"},
		{"/sdk", `<PowerOnMultiVM_Task xmlns="urn:vim25"><_this type="Datacenter">dc</_this></PowerOnMultiVM_Task>`, "write"},
		{"/sdk", `<Destroy_Task xmlns="urn:vim25">` + this + `</Destroy_Task>`, "write"},
		{"/sdk", `<UnregisterVM xmlns="urn:vim25">` + this + `</UnregisterVM>`, "write"},
		{"/sdk", `<ReconfigVM_Task xmlns="urn:vim25">` + this + `</ReconfigVM_Task>`, "write"},
		{"/sdk", `<TerminateSession xmlns="urn:vim25"><_this type="SessionManager">s</_this></TerminateSession>`, "write"},
		{"/sdk", `<AcquireCloneTicket xmlns="urn:vim25"><_this type="SessionManager">s</_this></AcquireCloneTicket>`, "write"},
		{"/sdk", `<QuerySomethingNew xmlns="urn:vim25">` + this + `</QuerySomethingNew>`, "write"},
		{"/vsanHealth", `<CnsCreateVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">m</_this></CnsCreateVolume>`, "write"},
		{"/vsanHealth", attach(`<attachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></attachSpecs>`), "attach-volume"},
		{"/vsanHealth", strings.NewReplacer("Attach", "Detach", "attach", "detach").Replace(attach(`<attachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></attachSpecs>`)), "detach-volume"},
		{"/vsanHealth", attach(`<attachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm><vm type="VirtualMachine">vm-2</vm></attachSpecs>`), "write"},
		{"/vsanHealth", attach(`<attachSpecs><volumeId><id>v</id><id>w</id></volumeId><vm type="VirtualMachine">vm-1</vm></attachSpecs>`), "write"},
		{"/vsanHealth", attach(`<attachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm><sharing>sharingMultiWriter</sharing></attachSpecs>`), "write"},
		{"/vsanHealth", attach(strings.Repeat(`<attachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></attachSpecs>`, 2)), "write"},
	} {
		in, err := look("POST", tc.path, soap(tc.body))
		if got := kind(in, err); got != tc.want {
			t.Errorf("%s %s: %s, %v, want %s", tc.path, tc.body, got, err, tc.want)
		}
	}
	in, err := look("POST", "/sdk", soap(`<PowerOffVM_Task xmlns="urn:vim25">`+this+`</PowerOffVM_Task>`))
	want := guard.Intent{
		Method: "PowerOffVM_Task", Operation: "PowerOffVM_Task", Write: true, This: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"},
		VM: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"},
		Do: journal.Action{Kind: "power", With: map[string]string{"to": "poweredOff"}},
	}
	if diff := cmp.Diff(want, in, cmpopts.IgnoreUnexported(guard.Intent{})); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}

// TestHostile has requests that another parser might interpret differently.
func TestHostile(t *testing.T) {
	const (
		si    = `<_this type="ServiceInstance">si</_this>`
		read  = `<CurrentTime xmlns="urn:vim25">` + si + `</CurrentTime>`
		write = `<Destroy_Task xmlns="urn:vim25">` + this + `</Destroy_Task>`
	)
	declared := `<?xml version="1.0" encoding="UTF-8"?>`
	for _, body := range []string{
		"<", "<a/>", soap(""), soap("x"), soap(read + write), soap(write + read), soap(read) + soap(write), soap(read) + "<a/>", soap(read)[:90],
		strings.Replace(soap(read), "</Body>", "</Body><Body>"+write+"</Body>", 1),
		strings.Replace(soap(read), "<Body>", write+"<Body>", 1),
		strings.Replace(soap(read), "</Body>", "</Body>"+write, 1),
		strings.Replace(soap(read), "<Header>", "<Header>"+write, 1),
		strings.Replace(soap(read), "<Header>", `<Header><Action xmlns="http://www.w3.org/2005/08/addressing">Destroy_Task</Action>`, 1),
		strings.Replace(soap(read), "http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope", 1),
		strings.Replace(soap(read), "UTF-8", "UTF-16", 1),
		strings.Replace(soap(read), "UTF-8", "ISO-8859-1", 1),
		`<Envelope><Body>` + read + `</Body></Envelope>`,
		`<!DOCTYPE x [<!ENTITY m "Destroy_Task">]>` + strings.TrimPrefix(soap(`<a>&m;</a>`), declared),
		`<!DOCTYPE x>` + strings.TrimPrefix(soap(read), declared),
		strings.Replace(soap(read), "<Body>", "<Body><?php x?>", 1),
		soap(`<a:CurrentTime xmlns="urn:vim25">` + si + `</a:CurrentTime>`),
		soap(`<a:b:CurrentTime xmlns:a="urn:vim25">` + si + `</a:b:CurrentTime>`),
		soap(`<CurrentTime xmlns="urn:vim25" xmlns="urn:x">` + si + `</CurrentTime>`),
		soap(`<CurrentTime xmlns="urn:vim25">` + si + `</Destroy_Task>`),
		soap(`<CurrentTime xmlns="urn:vim25">` + si + strings.Repeat("<a>", 200) + strings.Repeat("</a>", 200) + `</CurrentTime>`),
		soap(read) + "\x00", soap(strings.Replace(read, "si<", "s\xff<", 1)), "\ufeff" + soap(read),
	} {
		if in, err := look("POST", "/sdk", body); err == nil {
			t.Errorf("%q: %+v", body, in)
		}
	}
}

// TestHeaders are requests that read but for what stands around them.
func TestHeaders(t *testing.T) {
	body := soap(`<CurrentTime xmlns="urn:vim25"><_this type="ServiceInstance">si</_this></CurrentTime>`)
	for name, spoil := range map[string]func(*http.Request){
		"X-HTTP-Method-Override": func(r *http.Request) { r.Header.Set("X-HTTP-Method-Override", "DELETE") },
		"Upgrade":                func(r *http.Request) { r.Header.Set("Upgrade", "websocket") },
		"Expect":                 func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"gzip":                   func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") },
		"Transfer-Encoding":      func(r *http.Request) { r.TransferEncoding = []string{"gzip", "chunked"} },
		"Trailer":                func(r *http.Request) { r.Trailer = http.Header{"X": nil} },
		"two types":              func(r *http.Request) { r.Header.Add("Content-Type", "application/json") },
		"JSON":                   func(r *http.Request) { r.Header.Set("Content-Type", "application/json") },
		"SOAP 1.2":               func(r *http.Request) { r.Header.Set("Content-Type", "application/soap+xml") },
		"octets":                 func(r *http.Request) { r.Header.Set("Content-Type", "application/octet-stream") },
		"UTF-16":                 func(r *http.Request) { r.Header.Set("Content-Type", "text/xml; charset=utf-16") },
		"parameter":              func(r *http.Request) { r.Header.Set("Content-Type", `text/xml; type="x"`) },
		"no type":                func(r *http.Request) { r.Header.Del("Content-Type") },
		"SOAPAction":             func(r *http.Request) { r.Header.Set("SOAPAction", "Destroy_Task") },
		"PUT":                    func(r *http.Request) { r.Method = "PUT" },
		"CONNECT":                func(r *http.Request) { r.Method = "CONNECT" },
		"GET":                    func(r *http.Request) { r.Method = "GET" },
		"lower case":             func(r *http.Request) { r.Method = "post" },
		"host":                   func(r *http.Request) { r.URL.Host = "elsewhere" },
	} {
		r := request("POST", "/sdk", body)
		if _, err := guard.ParseIntent(r, []byte(body)); err != nil {
			t.Fatal(err)
		}
		spoil(r)
		if in, err := guard.ParseIntent(r, []byte(body)); err == nil {
			t.Errorf("%s: %+v", name, in)
		}
	}
}

// TestRewritten shows what the vCenter gets: what was read, and not what was sent.
func TestRewritten(t *testing.T) {
	sent := strings.Replace(soap(`<v:CurrentTime xmlns:v = 'urn:vim25' ><!-- Destroy_Task --><_this type='ServiceInstance' xmlns="urn:vim25"><![CDATA[s]]>&#105;</_this></v:CurrentTime>`), "<Body>", "<Body >\n", 1)
	r := request("POST", "/sd%6b", sent)
	r.Header.Set("Cookie", "vmware_soap_session=s")
	r.Header.Set("SOAPAction", "urn:vim25/8.0.3.0")
	r.Header.Set("X-Unknown", "x")
	r.Header.Set("Connection", "Content-Type")
	in, err := guard.ParseIntent(r, []byte(sent))
	if err != nil {
		t.Fatal(err)
	}
	out := in.Request(r)
	got, err := io.ReadAll(out.Body)
	want := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Header><operationID>1</operationID></Header><Body>` + "\n" +
		`<v:CurrentTime xmlns:v="urn:vim25"><_this type="ServiceInstance" xmlns="urn:vim25">si</_this></v:CurrentTime></Body></Envelope>`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" || int(out.ContentLength) != len(want) {
		t.Errorf("%v, %s", err, diff)
	}
	headers := http.Header{"Cookie": {"vmware_soap_session=s"}, "Soapaction": {"urn:vim25/8.0.3.0"}, "Content-Type": {`text/xml; charset="utf-8"`}}
	if diff := cmp.Diff(headers, out.Header); diff != "" || out.URL.String() != "/sdk" {
		t.Errorf("%s, %s", out.URL, diff)
	}

	sent = ` {"object_id": {"type":"VirtualMachine","id":"vm-\u0031"}} `
	r = request("POST", "/api/cis/tagging/tag-association/urn%3At?action=%61ttach", sent)
	if in, err = guard.ParseIntent(r, []byte(sent)); err != nil {
		t.Fatal(err)
	}
	out = in.Request(r)
	if got, err = io.ReadAll(out.Body); err != nil || string(got) != `{"object_id":{"id":"vm-1","type":"VirtualMachine"}}` || out.URL.String() != "/api/cis/tagging/tag-association/urn:t?action=attach" {
		t.Errorf("%s: %s, %v", out.URL, got, err)
	}
}

func TestREST(t *testing.T) {
	const on = `{"object_id":{"type":"VirtualMachine","id":"vm-1"}}`
	for _, tc := range []struct{ method, path, body, want string }{
		{"POST", "/rest/com/vmware/cis/session", "", "read"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects", "{}", "read"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", on, "attach-tag"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn%3At?~action=detach", on, "detach-tag"},
		{"POST", "/api/cis/tagging/tag-association/urn:t?action=attach", on, "attach-tag"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", strings.Replace(on, "VirtualMachine", "Datacenter", 1), "write"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", strings.Replace(on, "}}", `},"x":1}`, 1), "write"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", strings.Replace(on, "vm-1", `vm-1","id":"vm-2`, 1), "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", strings.Replace(on, "vm-1", `vm-1","ID":"vm-2`, 1), "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", on + on, "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", "[" + on + "]", "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", "", "write"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach-tag-to-multiple-objects", on, "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=list&~action=attach", on, "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags&action=attach", on, "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association?action=list-attached-tags", on, "unknown"},
		{"POST", "/api/cis/tagging/tag-association?~action=list-attached-tags", on, "unknown"},
		// F1 of the findings: a word in the query made a read of any path.
		{"POST", "/rest/com/vmware/cis/tagging/category?action=list", `{"create_spec":{}}`, "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/category?~action=get-x", `{"create_spec":{}}`, "unknown"},
		{"POST", "/api/cis/tagging/category?~action=list", `{}`, "unknown"},
		{"POST", "/rest/com/vmware/cis/tagging/tag", "{}", "unknown"},
		{"DELETE", "/rest/com/vmware/cis/tagging/tag/id:urn:t", "", "unknown"},
		{"PATCH", "/api/cis/tagging/tag/urn:t", "{}", "unknown"},
		{"POST", "/rest/vcenter/vm/vm-1/power/stop", "", "unknown"},
		{"POST", "/api/vcenter/vm/vm-1/power?action=stop", "", "unknown"},
		{"POST", "/api", `{"method":"list"}`, "unknown"},
		{"POST", "/rest/../sdk?~action=list", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/./tagging/tag", "", "unknown"},
		{"GET", "/rest/com/vmware/cis//tagging/tag", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag;x=y", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag%3bx", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag/id:a%2fb", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag/id:a%252fb", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag/id:a%5cb", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag/%2e%2e", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag/id:a%00b", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag?x=y", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag?~action=", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag?", "", "unknown"},
		{"GET", "/rest/com/vmware/cis/tagging/tag", "{}", "unknown"},
		{"HEAD", "/rest/com/vmware/cis/tagging/tag", "", "unknown"},
		{"OPTIONS", "/rest/com/vmware/cis/tagging/tag", "", "unknown"},
		{"GET", "/folder/a.vmdk?dcPath=dc&dsName=ds", "", "unknown"},
		{"PUT", "/folder/a.vmdk", "", "unknown"},
		{"DELETE", "/folder/a.vmdk", "", "unknown"},
		{"POST", "/sdk/vim25/8.0.2.0/PropertyCollector/pc/RetrievePropertiesEx", "{}", "unknown"},
		{"GET", "/", "", "unknown"},
	} {
		in, err := look(tc.method, tc.path, tc.body)
		if got := kind(in, err); got != tc.want {
			t.Errorf("%s %s %s: %s, %v, want %s", tc.method, tc.path, tc.body, got, err, tc.want)
		}
	}
}

func ExampleDescribeVM() {
	fmt.Println(guard.DescribeVM(journal.Action{Kind: "power", With: map[string]string{"to": "poweredOn"}}))
	// Output: powered on
}
