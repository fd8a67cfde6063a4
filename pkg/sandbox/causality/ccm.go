package causality

import (
	"strings"
	"time"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// What brings about that a connection of the cloud provider begins or ends, and that a configuration is looked at.
var (
	gateKinds       = []string{"gate.up", "gate.down", "gate.hung", "gate.slow"}
	connectionKinds = []string{"ccm.vcenter-connected", "ccm.vcenter-unreachable", "ccm.vcenter-login-failed"}
)

// reloadWait is how long after a change the cloud provider may tell what became of it.
const reloadWait = time.Minute

// OfCCMEvent finds what made the cloud provider say e, 0 when that is not known.
func (f *Finder) OfCCMEvent(e event.Event) uint64 {
	if e.Object.Kind == "VCenter" {
		return f.ofConnection(e.Object.Name, e.Kind)
	}
	if e.Object.Kind == "Node" {
		return f.ofCCMNodeEvent(e)
	}
	if strings.HasPrefix(e.Kind, "ccm.config-") {
		return f.Within(reloadWait, []string{"ccm.config-changed"}, func(event.Event) bool { return true })
	}
	return 0
}

// ofConnection finds what became of a vCenter or of the credentials for it.
func (f *Finder) ofConnection(vcenter, kind string) uint64 {
	const credentials, config, started = "ccm.credentials-changed", "ccm.config-changed", "child.started"
	var kinds []string
	about := func(e event.Event) bool { return e.Object.Kind == "VCenter" && e.Object.Name == vcenter }
	switch kind {
	case "ccm.vcenter-connected":
		kinds = []string{"gate.up", "gate.slow", "fault.healed/vcenter.", "vcenter.restarted", credentials, config, started}
	case "ccm.vcenter-unreachable":
		if seq := f.trouble(vcenter, gateKinds, "gate.up"); seq != 0 {
			return seq // however long it took to be noticed
		}
		if seq := f.activeFault("vcenter.", about); seq != 0 {
			return seq
		}
		kinds = []string{"fault.injected/vcenter.restart", config, started}
	default: // login failed, credentials missing or found
		kinds = []string{"fault.injected/vcenter.", credentials, config, started}
	}
	return f.Newest(kinds, func(e event.Event) bool {
		switch e.Object.Kind {
		case "VCenter":
			return e.Object.Name == vcenter
		case "Component":
			return e.Object.Name == "ccm"
		case "Node": // a kubelet that started
			return false
		}
		return true
	})
}

// ofCCMNodeEvent finds why the cloud provider says so of a node.
func (f *Finder) ofCCMNodeEvent(e event.Event) uint64 {
	kind := e.Kind
	if was, ok := strings.CutSuffix(e.Message, ")"); ok && kind == "ccm.node-well" {
		if _, reason, ok := strings.Cut(was, "(was: "); ok {
			kind += "/" + Kebab(reason) // what ends one trouble does not end another
		}
	}
	if seq := f.OfNode(e.Object.Name, kind); seq != 0 {
		return seq
	}
	switch kind {
	case "ccm.deletion-held-back", "ccm.vcenter-unavailable", "ccm.zone-tags-unknown":
		return f.ofDoubt(e.Message)
	case "ccm.zone-tag-missing":
		vcenter, _ := f.VM(e.Object.Name)
		return f.Newest([]string{"tag.detached"}, func(tag event.Event) bool {
			return tag.Object.VCenter == vcenter && strings.Contains(e.Message, `"`+tag.Object.Name+`"`)
		})
	}
	return 0
}

// ofDoubt finds what keeps a vCenter that the message names from being asked: what the cloud provider has said of
// it, or what was done to it.
func (f *Finder) ofDoubt(message string) uint64 {
	for _, vc := range f.Topology().Spec.VCenters {
		if !strings.Contains(message, `vcenter "`+vc.Name+`"`) {
			continue
		}
		if seq := f.trouble(vc.Name, connectionKinds, "ccm.vcenter-connected"); seq != 0 {
			return seq
		}
		if seq := f.trouble(vc.Name, gateKinds, "gate.up"); seq != 0 {
			return seq
		}
		about := func(e event.Event) bool { return e.Object.Kind == "VCenter" && e.Object.Name == vc.Name }
		if seq := f.activeFault("vcenter.", about); seq != 0 {
			return seq
		}
	}
	return 0
}

// trouble returns the last event of one of the kinds about a vCenter, 0 when it is the one that says that all is well.
func (f *Finder) trouble(vcenter string, kinds []string, well string) uint64 {
	about := func(e event.Event) bool { return e.Object.Kind == "VCenter" && e.Object.Name == vcenter }
	last := f.Within(AnyAge, kinds, about)
	if last == f.Within(AnyAge, []string{well}, about) {
		return 0
	}
	return last
}

// Kebab turns the reason of an Event into a kind: VCenterLoginFailed is vcenter-login-failed, VMGone vm-gone.
func Kebab(reason string) string {
	rs := []rune(strings.ReplaceAll(reason, "VCenter", "Vcenter"))
	var b strings.Builder
	for i, r := range rs {
		begins := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]))
		if begins {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
