package gate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestRulesAreAccepted(t *testing.T) {
	for name, r := range map[string]gate.Rule{
		"every field": {
			Name: "CSI cannot attach",
			Match: gate.Match{
				Client: "vsphere-csi*", User: "*@vsphere.local", Session: "52d1", Transport: gate.SOAP,
				Methods: []string{"CnsAttachVolume", "*_Task"},
				Object:  gate.Object{Type: "VirtualMachine", Ref: "vm-42", Name: "worker-*"},
			},
			Action: gate.FailTask{After: 5 * time.Second, Fault: gate.Fault{
				Type: "FileLocked", Message: "no", Fields: map[string]any{"file": "[ds] a.vmdk"},
			}},
			Probability: 0.5, Seed: 7, Skip: 1, Count: 3,
			Window: gate.Window{From: 10 * time.Second, Until: 90 * time.Second},
		},
		"a jitter":         {Action: gate.Latency{Delay: 200 * time.Millisecond, Jitter: 50 * time.Millisecond}},
		"a status":         {Action: gate.HTTPStatus{Code: 503}},
		"a fault":          {Action: gate.Fault{Type: "NotAuthenticated"}},
		"another status":   {Action: gate.RESTError{Type: "NOT_FOUND", Status: 410}},
		"a default":        {Action: gate.Reset{}},
		"a fault of PBM's": {Action: gate.FailTask{Fault: gate.Fault{Type: "PbmFault"}}},
		"operations": {
			Action: gate.DropSession{},
			Match: gate.Match{Methods: []string{
				"GET /rest/com/vmware/cis/tagging/tag/{id}", "/api/vcenter/vm", "/rest/com/*", "* /api/*", "GET /about",
			}},
		},
	} {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRulesAreRefused(t *testing.T) {
	hang := func(m gate.Match) gate.Rule { return gate.Rule{Name: "r", Action: gate.Hang{}, Match: m} }
	methods := func(m ...string) gate.Rule { return hang(gate.Match{Methods: m}) }
	does := func(a gate.Action) gate.Rule { return gate.Rule{Name: "r", Action: a} }
	for _, tc := range []struct {
		name string
		rule gate.Rule
		want string
	}{
		{"no action", gate.Rule{Name: "r"}, `action: a rule needs one`},
		{"method", methods("Cns*", "PowerOnVm_Task"), `match.methods[1]: unknown method "PowerOnVm_Task": did you mean PowerOnVM_Task?`},
		{"glob", methods("PowerOon*"), `match.methods[0]: no method is like "PowerOon*"`},
		{
			"operation", methods("GET /rest/com/vmware/cis/tagging/tags"),
			`match.methods[0]: unknown REST operation "GET /rest/com/vmware/cis/tagging/tags": did you mean GET /rest/com/vmware/cis/tagging/tag?`,
		},
		{
			"long operation", methods("POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=atach"),
			`match.methods[0]: unknown REST operation "POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=atach": did you mean ` +
				`POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach?`,
		},
		{"verb", methods("GTE /api/session"), `match.methods[0]: "GTE /api/session" begins with no verb of HTTP: did you mean GET?`},
		{"transport", hang(gate.Match{Transport: "soup"}), `match.transport: unknown transport "soup": did you mean soap?`},
		{
			"contradiction",
			gate.Rule{Name: "r", Action: gate.Fault{Type: "NoPermission"}, Match: gate.Match{Transport: gate.REST}},
			`match.transport: fault happens to soap only, not to rest`,
		},
		{
			"type", hang(gate.Match{Object: gate.Object{Type: "VirtualMachin"}}),
			`match.object.type: unknown type of managed object "VirtualMachin": did you mean VirtualMachine?`,
		},
		{
			"ref", hang(gate.Match{Object: gate.Object{Ref: "VirtualMachine:vm-1"}}),
			`match.object.ref: "VirtualMachine:vm-1" is not the value of a reference, such as vm-42`,
		},
		{"fault", does(gate.Fault{Type: "NoPermision"}), `action.fault.type: unknown fault "NoPermision": did you mean NoPermission?`},
		{"no fault", does(gate.Fault{Type: "VirtualMachineConfigSpec"}), `action.fault.type: unknown fault "VirtualMachineConfigSpec"`},
		{
			"fault's field", does(gate.FailTask{Fault: gate.Fault{Type: "FileLocked", Fields: map[string]any{"flie": "x"}}}),
			`action.failTask.fault.fields.flie: FileLocked has no such field: did you mean file?`,
		},
		{
			"fault's value", does(gate.Fault{Type: "FileLocked", Fields: map[string]any{"file": []int{1}}}),
			`action.fault.fields: cannot unmarshal array into Go struct field FileLocked.file of type string`,
		},
		{"REST error", does(gate.RESTError{Type: "NOTFOUND"}), `action.restError.type: unknown error "NOTFOUND": did you mean NOT_FOUND?`},
		{"status", does(gate.HTTPStatus{Code: 200}), `action.status.code: 200 is not between 400 and 599`},
		{"jitter", does(gate.Latency{Delay: time.Second, Jitter: 2 * time.Second}), `action.latency.jitter: 2s is not between 0 and the delay, 1s`},
		{"probability", gate.Rule{Name: "r", Action: gate.Hang{}, Probability: 1.5}, `probability: 1.5 is not between 0 and 1`},
		{"negative", gate.Rule{Name: "r", Action: gate.Hang{}, Skip: -1}, `skip: -1 is negative`},
		{
			"window",
			gate.Rule{Name: "r", Action: gate.Hang{}, Window: gate.Window{From: 2 * time.Second, Until: time.Second}},
			`window.until: 1s is not after from, 2s`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.rule.Validate()
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(`rule "r": `+tc.want, err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
