package guard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// soap is a request that calls a method.
func soap(inner string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Header><id>1</id></Header><Body>` + inner + `</Body></Envelope>`
}

const this = `<_this type="VirtualMachine">vm-1</_this>`

// kind says in short what a request is taken for: what of a VM it changes, "read", or "write" for what is never let
// through.
func kind(in guard.Intent) string {
	switch {
	case !in.Write:
		return "read"
	case in.VM.Value == "":
		return "write"
	}
	return in.Do.Kind
}

func TestSOAP(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{`<RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">pc</_this></RetrievePropertiesEx>`, "read"},
		{`<WaitForUpdatesEx xmlns="urn:vim25"/>`, "read"},
		{`<CnsQueryVolume xmlns="urn:vsan"/>`, "read"},
		{`<Login xmlns="urn:vim25"><userName>u</userName></Login>`, "read"},
		{`<SearchDatastore_Task xmlns="urn:vim25"/>`, "read"},
		{`<PowerOffVM_Task xmlns="urn:vim25">` + this + `</PowerOffVM_Task>`, "power"},
		{`<v:PowerOnVM_Task xmlns:v="urn:vim25">` + this + `</v:PowerOnVM_Task>`, "power"},
		{`<SuspendVM_Task xmlns="urn:vim25">` + this + `</SuspendVM_Task>`, "power"},
		{`<ShutdownGuest xmlns="urn:vim25">` + this + `</ShutdownGuest>`, "ask-guest"},
		{`<StandbyGuest xmlns="urn:vim25">` + this + `</StandbyGuest>`, "ask-guest"},
		{`<ResetVM_Task xmlns="urn:vim25">` + this + `</ResetVM_Task>`, "reset"},
		{`<Rename_Task xmlns="urn:vim25">` + this + `<newName>n</newName></Rename_Task>`, "rename"},
		{`<Rename_Task xmlns="urn:vim25"><_this type="Folder">group-1</_this><newName>n</newName></Rename_Task>`, "write"},
		{`<PowerOffVM_Task xmlns="urn:vim25">` + this + `<_this type="VirtualMachine">vm-2</_this></PowerOffVM_Task>`, "write"},
		{`<PowerOffVM_Task xmlns="urn:vim25"><_this type="HostSystem">host-1</_this></PowerOffVM_Task>`, "write"},
		{`<PowerOnMultiVM_Task xmlns="urn:vim25"><_this type="Datacenter">dc</_this></PowerOnMultiVM_Task>`, "write"},
		{`<Destroy_Task xmlns="urn:vim25">` + this + `</Destroy_Task>`, "write"},
		{`<UnregisterVM xmlns="urn:vim25">` + this + `</UnregisterVM>`, "write"},
		{`<ReconfigVM_Task xmlns="urn:vim25">` + this + `</ReconfigVM_Task>`, "write"},
		{`<RelocateVM_Task xmlns="urn:vim25">` + this + `</RelocateVM_Task>`, "write"},
		{`<TerminateSession xmlns="urn:vim25"/>`, "write"},
		{`<AcquireCloneTicket xmlns="urn:vim25"/>`, "write"},
		{`<SetEntityPermissions xmlns="urn:vim25"/>`, "write"},
		{`<SomethingThatNobodyKnows xmlns="urn:vim25"/>`, "write"},
		{`<CnsCreateVolume xmlns="urn:vsan"/>`, "write"},
		{`<CnsAttachVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">m</_this><attachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></attachSpecs></CnsAttachVolume>`, "attach-volume"},
		{`<CnsDetachVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">m</_this><detachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></detachSpecs></CnsDetachVolume>`, "detach-volume"},
		{`<CnsDetachVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">m</_this><detachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm><vm type="VirtualMachine">vm-2</vm></detachSpecs></CnsDetachVolume>`, "write"},
		{
			`<CnsDetachVolume xmlns="urn:vsan"><_this type="CnsVolumeManager">m</_this><detachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-1</vm></detachSpecs>` +
				`<detachSpecs><volumeId><id>v</id></volumeId><vm type="VirtualMachine">vm-2</vm></detachSpecs></CnsDetachVolume>`, "write",
		},
	} {
		in, err := guard.Look(request("POST", "/sdk", soap(tc.body)), []byte(soap(tc.body)))
		if err != nil || kind(in) != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.body, kind(in), err, tc.want)
		}
	}
	in, err := guard.Look(request("POST", "/sdk", ""), []byte(soap(`<PowerOffVM_Task xmlns="urn:vim25">`+this+`</PowerOffVM_Task>`)))
	want := guard.Intent{
		Method: "PowerOffVM_Task", Write: true, This: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"},
		VM: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"},
		Do: journal.Action{Kind: "power", With: map[string]string{"to": "poweredOff"}},
	}
	if diff := cmp.Diff(want, in); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}

// TestHostile is what somebody else might read in another way.
func TestHostile(t *testing.T) {
	read := `<CurrentTime xmlns="urn:vim25"/>`
	for _, body := range []string{
		"", "x", "<a/>", soap(""), soap(read + `<Destroy_Task xmlns="urn:vim25"/>`), soap(read) + soap(`<Destroy_Task xmlns="urn:vim25"/>`),
		soap(read) + "<a/>", soap(read)[:90],
		`<Envelope><Body>` + read + `</Body><Body><Destroy_Task/></Body></Envelope>`,
		`<?xml version="1.0" encoding="UTF-16"?>` + soap(read)[len(`<?xml version="1.0" encoding="UTF-8"?>`):],
		`<!DOCTYPE x [<!ENTITY m "Destroy_Task">]><Envelope><Body><a>&m;</a></Body></Envelope>`,
	} {
		if in, err := guard.Look(request("POST", "/sdk", body), []byte(body)); err == nil {
			t.Errorf("%q: %+v", body, in)
		}
	}
}

func TestREST(t *testing.T) {
	const on = `{"object_id":{"type":"VirtualMachine","id":"vm-1"}}`
	for _, tc := range []struct{ method, path, body, want string }{
		{"GET", "/rest/com/vmware/cis/tagging/tag", "", "read"},
		{"POST", "/rest/com/vmware/cis/session", "", "read"},
		{"DELETE", "/api/session", "", "read"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects", "{}", "read"},
		{"POST", "/rest/com/vmware/cis/tagging/tag/id:c?~action=list-tags-for-category", "{}", "read"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", on, "attach-tag"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn%3At?~action=detach", on, "detach-tag"},
		{"POST", "/api/cis/tagging/tag-association/urn:t?action=attach", on, "attach-tag"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach", strings.Replace(on, "VirtualMachine", "Datacenter", 1), "write"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=attach-tag-to-multiple-objects", on, "write"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=list&~action=attach", on, "write"},
		{"POST", "/rest/com/vmware/cis/tagging/tag-association/id:urn:t?~action=list&action=attach", on, "write"},
		{"POST", "/rest/com/vmware/cis/tagging/tag", "{}", "write"},
		{"DELETE", "/rest/com/vmware/cis/tagging/tag/id:urn:t", "", "write"},
		{"PATCH", "/api/cis/tagging/tag/urn:t", "{}", "write"},
		{"POST", "/rest/vcenter/vm/vm-1/power/stop", "", "write"},
		{"POST", "/api/vcenter/vm/vm-1/power?action=stop", "", "write"},
		{"POST", "/api", `{"method":"list"}`, "write"},
		{"POST", "/rest/../sdk?~action=list", "", "write"},
		{"POST", "/rest/%2e%2e/sdk?~action=list", "", "write"},
		{"POST", "/rest/a%2fb?~action=list", "", "write"},
		{"GET", "/folder/a.vmdk?dcPath=dc&dsName=ds", "", "read"},
		{"PUT", "/folder/a.vmdk", "", "write"},
		{"DELETE", "/folder/a.vmdk", "", "write"},
		{"POST", "/sdk/vim25/8.0.2.0/PropertyCollector/pc/RetrievePropertiesEx", "{}", "read"},
		{"POST", "/sdk/vim25/8.0.2.0/VirtualMachine/vm-1/PowerOffVM_Task", "{}", "write"},
		{"POST", "/sts/STSService/vsphere.local", "", "read"},
	} {
		in, err := guard.Look(request(tc.method, tc.path, tc.body), []byte(tc.body))
		if err != nil || kind(in) != tc.want {
			t.Errorf("%s %s: %s, %v, want %s", tc.method, tc.path, kind(in), err, tc.want)
		}
	}
}

func request(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, "https://vc"+target, strings.NewReader(body))
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func ExampleWords() {
	fmt.Println(guard.Words(journal.Action{Kind: "power", With: map[string]string{"to": "poweredOn"}}))
	// Output: powered on
}
