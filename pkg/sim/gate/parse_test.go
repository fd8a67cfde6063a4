package gate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

const allFields = `# every field
- name: CSI cannot attach
  match:
    client: vsphere-csi*
    user: "*@vsphere.local"
    session: 52d1
    transport: soap
    methods: [CnsAttachVolume, "*_Task"]
    object: {type: VirtualMachine, ref: vm-42, name: worker-*}
  action:
    failTask:
      after: 5s
      fault: {type: FileLocked, message: no, fields: {file: "[ds] a.vmdk"}}
  probability: 0.5
  seed: 7
  skip: 1
  count: 3
  window: {from: 10s, until: 1m30s}
- action: hang
- action: {latency: {delay: 200ms, jitter: 50ms}}
- action: {latency: 1s}
- action: {status: 503}
- action: {fault: NotAuthenticated}
- action: {restError: {type: NOT_FOUND, status: 410}}
- action: {reset: {}}
- {action: {dropSession: }, match: {methods: ["GET /rest/com/vmware/cis/tagging/tag/{id}", "/api/vcenter/vm", "/rest/com/*", "* /api/*", GET /about]}}
- action: {failTask: {fault: PbmFault}}
- {action: down}
- {action: refuse}
- {action: blackHole}
`

func allRules() []gate.Rule {
	return []gate.Rule{
		{
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
		{Action: gate.Hang{}},
		{Action: gate.Latency{Delay: 200 * time.Millisecond, Jitter: 50 * time.Millisecond}},
		{Action: gate.Latency{Delay: time.Second}},
		{Action: gate.HTTPStatus{Code: 503}},
		{Action: gate.Fault{Type: "NotAuthenticated"}},
		{Action: gate.RESTError{Type: "NOT_FOUND", Status: 410}},
		{Action: gate.Reset{}},
		{
			Action: gate.DropSession{},
			Match: gate.Match{Methods: []string{
				"GET /rest/com/vmware/cis/tagging/tag/{id}", "/api/vcenter/vm", "/rest/com/*", "* /api/*", "GET /about",
			}},
		},
		{Action: gate.FailTask{Fault: gate.Fault{Type: "PbmFault"}}},
		{Action: gate.Outage{}},
		{Action: gate.Refuse{}},
		{Action: gate.BlackHole{}},
	}
}

func TestParseRules(t *testing.T) {
	got, err := gate.ParseRules("rules.yaml", []byte(allFields))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(allRules(), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	one, err := gate.ParseRules("rule.json", []byte("{\n\t\"action\": {\"latency\": \"1s\"},\n\t\"name\": \"x\\ty\"\n}"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]gate.Rule{{Name: "x\ty", Action: gate.Latency{Delay: time.Second}}}, one); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What is written can be read: JSON, YAML, and as part of something larger.
func TestRulesSurviveWriting(t *testing.T) {
	type file struct {
		Rules []gate.Rule `json:"rules" yaml:"rules"`
	}
	want := file{allRules()}
	for _, tc := range []struct {
		name  string
		write func(any) ([]byte, error)
		read  func([]byte, any) error
	}{
		{"JSON", json.Marshal, json.Unmarshal},
		{"YAML", yaml.Marshal, yaml.Unmarshal},
	} {
		text, err := tc.write(want)
		if err != nil {
			t.Fatal(err)
		}
		var got file
		if err := tc.read(text, &got); err != nil {
			t.Fatalf("%s: %v\n%s", tc.name, err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
	}
	var got file
	err := yaml.Unmarshal([]byte("rules:\n  - action: hang\n  - action: hnag\n"), &got)
	if err == nil || !strings.Contains(err.Error(), "line 3: action.hnag: unknown action: did you mean hang?") {
		t.Errorf("err = %v", err)
	}
	if err := json.Unmarshal([]byte(`{"rules":[{"action":"hang","cuont":1}]}`), &got); err == nil || !strings.Contains(err.Error(), "did you mean count?") {
		t.Errorf("err = %v", err)
	}
}

func TestParseRefusals(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown field", "- name: x\n  mach: {}\n  action: hang\n", `r.yaml:2: mach: unknown field: did you mean match?`},
		{"unknown inner field", "- match:\n    clinet: x\n  action: hang", `r.yaml:2: match.clinet: unknown field: did you mean client?`},
		{"unknown action", "action: latencyy", `r.yaml:1: action.latencyy: unknown action: did you mean latency?`},
		{"unknown parameter", "action:\n  latency:\n    deley: 1s", `r.yaml:3: action.latency.deley: unknown field: did you mean delay?`},
		{"twice", "- action: hang\n  name: a\n  name: b", `r.yaml:3: name: is there twice`},
		{"no action", "- name: x", `r.yaml:1: action: a rule needs one`},
		{"two actions", "action: {hang: , down: }", `r.yaml:1: action: want one action, such as hang or {latency: 300ms}, not a mapping`},
		{"method", "action: hang\nmatch:\n  methods:\n  - PowerOnVm_Task", `r.yaml:4: match.methods[0]: unknown method "PowerOnVm_Task": did you mean PowerOnVM_Task?`},
		{"glob", `{action: hang, match: {methods: ["PowerOon*"]}}`, `r.yaml:1: match.methods[0]: no method is like "PowerOon*"`},
		{
			"operation", `{action: hang, match: {methods: ["GET /rest/com/vmware/cis/tagging/tags"]}}`,
			`r.yaml:1: match.methods[0]: unknown REST operation "GET /rest/com/vmware/cis/tagging/tags": did you mean GET /rest/com/vmware/cis/tagging/tag?`,
		},
		{
			"long operation", `{action: hang, match: {methods: ["POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=atach"]}}`,
			`r.yaml:1: match.methods[0]: unknown REST operation "POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=atach": did you mean ` +
				`POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach?`,
		},
		{"verb", `{action: hang, match: {methods: ["GTE /api/session"]}}`, `r.yaml:1: match.methods[0]: "GTE /api/session" begins with no verb of HTTP: did you mean GET?`},
		{"transport", "action: hang\nmatch: {transport: soup}", `r.yaml:2: match.transport: unknown transport "soup": did you mean soap?`},
		{"contradiction", "action: {fault: NoPermission}\nmatch: {transport: rest}", `r.yaml:2: match.transport: fault happens to soap only, not to rest`},
		{"type", "action: hang\nmatch: {object: {type: VirtualMachin}}", `r.yaml:2: match.object.type: unknown type of managed object "VirtualMachin": did you mean VirtualMachine?`},
		{"ref", "action: hang\nmatch: {object: {ref: 'VirtualMachine:vm-1'}}", `r.yaml:2: match.object.ref: "VirtualMachine:vm-1" is not the value of a reference, such as vm-42`},
		{"fault", "action: {fault: NoPermision}", `r.yaml:1: action.fault.type: unknown fault "NoPermision": did you mean NoPermission?`},
		{"no fault", "action: {fault: VirtualMachineConfigSpec}", `r.yaml:1: action.fault.type: unknown fault "VirtualMachineConfigSpec"`},
		{"fault's field", "action:\n  failTask:\n    fault:\n      type: FileLocked\n      fields:\n        flie: x", `r.yaml:5: action.failTask.fault.fields.flie: FileLocked has no such field: did you mean file?`},
		{"fault's value", "action: {fault: {type: FileLocked, fields: {file: [1]}}}", `r.yaml:1: action.fault.fields: cannot unmarshal array into Go struct field FileLocked.file of type string`},
		{"REST error", "action: {restError: NOTFOUND}", `r.yaml:1: action.restError.type: unknown error "NOTFOUND": did you mean NOT_FOUND?`},
		{"status", "action: {status: 200}", `r.yaml:1: action.status.code: 200 is not between 400 and 599`},
		{"not a number", "action: {status: many}", `r.yaml:1: action.status.code: want a whole number, not "many"`},
		{"number for a text", "{name: 1, action: hang}", `r.yaml:1: name: want a text, not "1"`},
		{"duration", "action: {latency: 5}", `r.yaml:1: action.latency.delay: want a duration such as 300ms or 1m30s, not "5"`},
		{"jitter", "action: {latency: {delay: 1s, jitter: 2s}}", `r.yaml:1: action.latency.jitter: 2s is not between 0 and the delay, 1s`},
		{"probability", "{action: hang, probability: 1.5}", `r.yaml:1: probability: 1.5 is not between 0 and 1`},
		{"negative", "{action: hang, skip: -1}", `r.yaml:1: skip: -1 is negative`},
		{"window", "action: hang\nwindow: {from: 2s, until: 1s}", `r.yaml:2: window.until: 1s is not after from, 2s`},
		{"all at once", "- {action: hang, nme: x}\n- {action: hng}", "r.yaml:1: nme: unknown field: did you mean name?\nr.yaml:2: action.hng: unknown action: did you mean hang?"},
		{"not a rule", "- 5", `r.yaml:1: want a mapping, not "5"`},
		{"syntax", "- name: [", "r.yaml:1: did not find expected node content"},
		{"empty", "# nothing\n", "r.yaml: there are no rules in it"},
		{"two documents", "action: hang\n---\naction: hang", "r.yaml:2: a second document; rules are one list"},
		{"alias", "- &a {action: hang}\n- *a", "r.yaml:2: aliases are not read here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rules, err := gate.ParseRules("r.yaml", []byte(tc.text))
			if err == nil {
				t.Fatalf("accepted as %+v", rules)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(allFields))
	f.Add([]byte("- {action: {fault: {type: NoPermission, fields: {object: {type: a, value: b}}}}}"))
	f.Add([]byte(`{"action": {"failTask": {"fault": {"type": "FileLocked", "fields": {"faultCause": {"_typeName": 1}}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := gate.ParseRules("r", text)
		if err != nil {
			return
		}
		for _, r := range rules {
			if err := r.Validate(); err != nil {
				t.Errorf("parsed, but %v", err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := gate.ParseRules("again", text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
