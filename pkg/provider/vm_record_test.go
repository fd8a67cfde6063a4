package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// remembering returns a node with an annotation.
func remembering(n *corev1.Node, text string) *corev1.Node {
	n.Annotations = map[string]string{VMAnnotation: text}
	return n
}

const whole = `{"uuid":"` + uUnknown + `","vcenter":"instance-a","vm":"vm-42","server":"vc.example.org"}`

// The annotation counts only if it is complete and belongs to this node.
func TestRememberedBy(t *testing.T) {
	for _, tc := range []struct {
		name, text, problem string
	}{
		{"whole", whole, ""},
		{"uuid in the other byte order", `{"uuid":"` + u1Swapped + `","vcenter":"x","vm":"vm-1"}`, ""},
		{"fields of a later build", `{"uuid":"` + uUnknown + `","vcenter":"x","vm":"vm-1","host":{"a":[1]}}`, ""},
		{"empty", "", "not what this provider writes"},
		{"text", "vm-42", "not what this provider writes"},
		{"null", "null", "no vcenter"},
		{"list", "[]", "not what this provider writes"},
		{"a number for a name", `{"uuid":"` + uUnknown + `","vcenter":1,"vm":"vm-1"}`, "not what this provider writes"},
		{"no vcenter", `{"uuid":"` + uUnknown + `","vm":"vm-1"}`, "no vcenter"},
		{"no vm", `{"uuid":"` + uUnknown + `","vcenter":"x"}`, "no vm"},
		{"no uuid", `{"vcenter":"x","vm":"vm-1"}`, "is not that of the node's providerID"},
		{"another node's", `{"uuid":"` + u2 + `","vcenter":"x","vm":"vm-1"}`, "is not that of the node's providerID"},
		{"endless", `{"uuid":"` + strings.Repeat("0", 2000) + `"}`, "longer than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id := uUnknown
			if strings.Contains(tc.text, u1Swapped) {
				id = u1
			}
			r, err := recordOf(remembering(node("n", "vsphere://"+id, ""), tc.text))
			switch {
			case tc.problem == "" && (err != nil || r.VM == "" || r.VCenter == ""):
				t.Errorf("got %+v, %v", r, err)
			case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)):
				t.Errorf("got %+v, %v; want %q", r, err, tc.problem)
			}
		})
	}
	if _, err := recordOf(node("n", "vsphere://"+u1, "")); !errors.Is(err, errNoRecord) {
		t.Errorf("without an annotation: %v", err)
	}
}

// No content of the annotation causes an error, or a deletion that would not happen without it.
func FuzzRemembered(f *testing.F) {
	f.Add(whole)
	f.Add(`{"uuid":"` + uUnknown + `","vcenter":"","vm":"vm-42"}`)
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		n := remembering(node("n9", "vsphere://"+uUnknown, ""), text)
		for _, confirm := range []error{inventory.ErrStillThere, errors.New("doubt"), nil} {
			x := &listIndex{confirm: confirm}
			got, err := verdictOf(t, x.over(""), n)
			if (got == deleted) != (confirm == nil) {
				t.Errorf("%s, %v", got, err)
			}
		}
		x := &listIndex{vms: []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1")}}
		expectVM(t, "a vm of its own", x.over(""), remembering(node("n1", "vsphere://"+u1, ""), text), "one")
		written, _, due := x.over("").annotationDue(remembering(node("n1", "vsphere://"+u1, ""), text))
		if due && !json.Valid([]byte(written)) {
			t.Errorf("wrote %q", written)
		}
	})
}

// The result for a node that no search finds, by the vCenter's answer about the recorded reference.
func TestExistsRemembered(t *testing.T) {
	gone := func(text string) *corev1.Node { return remembering(node("n9", "vsphere://"+uUnknown, uUnknown), text) }
	hidden := errors.New("read vm-42: NoPermission")
	changed := fmt.Errorf("%w: w9, and %w to %s", inventory.ErrStillThere, inventory.ErrUUIDChanged, u2)
	for _, tc := range []struct {
		name             string
		removed, confirm error
		node             *corev1.Node
		ours             verdict
		reason           string
		asked            int
	}{
		{"its reference does not exist", nil, nil, gone(whole), deleted, "", 1},
		{"its vcenter is not configured", inventory.ErrNotConfigured, nil, gone(whole), kept, ReasonVCenterNotConfigured, 1},
		{"no permission to see it", hidden, nil, gone(whole), kept, ReasonDeletionHeldBack, 1},
		{"its reference resolves", inventory.ErrStillThere, nil, gone(whole), stays, ReasonVMInaccessible, 1},
		{"its uuid was changed", changed, nil, gone(whole), stays, ReasonVMUUIDChanged, 1},
		{"a vcenter is out", vcenter.ErrNotConnected, nil, gone(whole), kept, ReasonDeletionHeldBack, 1},
		{"its reference does not exist, and a search finds it", nil, inventory.ErrStillThere, gone(whole), stays, ReasonVMInaccessible, 1},
		{"its reference does not exist, and a search fails", nil, hidden, gone(whole), kept, ReasonDeletionHeldBack, 1},
		{"no annotation", inventory.ErrStillThere, nil, node("n9", "vsphere://"+uUnknown, uUnknown), deleted, "", 0},
		{"garbage", inventory.ErrStillThere, nil, gone("{"), deleted, "", 0},
		{"garbage, and a search finds it", nil, inventory.ErrStillThere, gone("{"), stays, ReasonVMInaccessible, 0},
		{"another node's", inventory.ErrStillThere, nil, gone(strings.Replace(whole, uUnknown, u2, 1)), deleted, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := &listIndex{removed: tc.removed, confirm: tc.confirm}
			got, err := verdictOf(t, x.over(""), tc.node)
			if got != tc.ours || len(x.asked) != tc.asked {
				t.Errorf("%s (%v), want %s; asked for %v", got, err, tc.ours, x.asked)
			}
			if (err == nil) != (tc.reason == "") || err != nil && reasonOf(err) != tc.reason {
				t.Errorf("event %v, want %q", err, tc.reason)
			}
			if got == deleted && len(x.confirmed) != 1 {
				t.Errorf("%d confirmations", len(x.confirmed))
			}
			x = &listIndex{removed: tc.removed, confirm: tc.confirm}
			if got, _ := verdictOf(t, x.over(ParityUpstream), tc.node); (got == deleted) != (tc.confirm == nil) || len(x.asked) != 0 {
				t.Errorf("upstream: %s, asked for %v", got, x.asked)
			}
		})
	}
}

// The events explain what keeps the node and how to release it.
func TestRememberedMessages(t *testing.T) {
	for _, tc := range []struct {
		removed error
		want    []string
	}{
		{inventory.ErrNotConfigured, []string{"vc.example.org", "instance-a", "vm-42", "not configured", "kubectl delete node n9", "kubectl annotate node n9 " + VMAnnotation + "-"}},
		{fmt.Errorf("%w: w9, and %w", inventory.ErrStillThere, inventory.ErrUUIDChanged), []string{"vm-42", "bios uuid was changed", "delete the node"}},
	} {
		x := &listIndex{removed: tc.removed}
		n := remembering(node("n9", "vsphere://"+uUnknown, ""), whole)
		_, err := x.over("").exists(t.Context(), n)
		text := message(n, err)
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
		}
	}
}

// The content and the time of writing.
func TestDue(t *testing.T) {
	vm := vmOf(t, "one", u1, "n1", "192.0.2.1")
	at := func(r vmRecord) string {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	right := vmRecord{UUID: u1, VCenter: "instance-a", VM: "one", Server: "vc-a"}
	edited := func(change func(*vmRecord)) string {
		r := right
		change(&r)
		return at(r)
	}
	for _, tc := range []struct {
		name string
		node *corev1.Node
		due  bool
	}{
		{"without an annotation", node("n1", "vsphere://"+u1, ""), true},
		{"with the right one", remembering(node("n1", "vsphere://"+u1, ""), at(right)), false},
		{"the vcenter has another name", remembering(node("n1", "vsphere://"+u1, ""), edited(func(r *vmRecord) { r.Server = "old" })), false},
		{"registered again", remembering(node("n1", "vsphere://"+u1, ""), edited(func(r *vmRecord) { r.VM = "vm-0" })), true},
		{"moved from another vcenter", remembering(node("n1", "vsphere://"+u1, ""), edited(func(r *vmRecord) { r.VCenter = "instance-b" })), true},
		{"another node's", remembering(node("n1", "vsphere://"+u1, ""), edited(func(r *vmRecord) { r.UUID = u2 })), true},
		{"garbage", remembering(node("n1", "vsphere://"+u1, ""), "{"), true},
		{"not initialized", node("n1", "", u1), true},
		{"of an unknown vm", node("n1", "vsphere://"+uUnknown, ""), false},
		{"of another provider", node("n1", "kind://n1", ""), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := &listIndex{vms: []*inventory.VM{vm}}
			i := x.over("")
			i.cfg.VCenters[0].Server = "vc-a"
			text, of, due := i.annotationDue(tc.node)
			if due != tc.due || due && (text != at(right) || of != vm) {
				t.Errorf("%v: %s", due, text)
			}
			if _, _, due := x.over(ParityUpstream).annotationDue(tc.node); due {
				t.Error("written with upstream's choice")
			}
		})
	}
}
