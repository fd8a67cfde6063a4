package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Options of [Check]. UserAgent is mandatory.
type Options struct {
	// UserAgent is sent with every request.
	UserAgent string
	// Selection says which VMs are, or are to be, nodes; the zero value means all.
	Selection inventory.Selection
	// Patience bounds every call. Default: that of package vcenter.
	Patience time.Duration
	// Now is this machine's clock. Default: the real one.
	Now func() time.Time
	// Cluster, when set, has its nodes matched with the VMs.
	Cluster *Cluster
	// NodesOnly, with a Cluster, leaves out VMs that are none of its nodes and are not called as one of them.
	NodesOnly bool
	// Inspect, when set, is handed everything that was read of a vCenter, for more questions; it must not change it.
	Inspect func(ctx context.Context, c *vcenter.Connection, inv *inventory.Inventory)
	// OnStep, when set, is told what is being looked at, before it is; vCenters may take their time to answer.
	OnStep func(vcenter, what string)
}

// Check looks at every vCenter of a configuration, one after the other, and at what their VMs have twice. What cannot be
// looked at is a finding, too.
func Check(ctx context.Context, config *vcenter.Config, o Options) []Finding {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.OnStep == nil {
		o.OnStep = func(string, string) {}
	}
	var (
		all   []Finding
		vms   []inventory.VM
		invs  []*inventory.Inventory
		whole = true
	)
	for _, v := range config.VCenters {
		l := &list{vcenter: v.Name}
		inv := l.one(ctx, v, inventory.Categories{Region: config.Region, Zone: config.Zone}, o)
		if inv == nil {
			whole = false
		} else {
			vms, invs = append(vms, inv.VMs...), append(invs, inv)
		}
		all = append(all, l.all...)
	}
	if err := inventory.Nowhere(invs...); err != nil && len(invs) == len(config.VCenters) {
		whole = false
		l := new(list)
		l.add(Error, "inventory", err.Error(), "no VM can be looked at that is chosen by it", "check the selection, and that the account may read the datacenters")
		all = append(all, l.all...)
	}
	all = append(all, duplicates(vms)...)
	if o.Cluster != nil {
		all = append(all, o.Cluster.match(vms, whole)...)
	}
	return all
}

// one checks a vCenter, and returns what was read of it; nil when its VMs cannot be known.
func (l *list) one(ctx context.Context, v vcenter.VCenter, categories inventory.Categories, o Options) *inventory.Inventory {
	o.OnStep(v.Name, "certificate and login")
	if !l.certificate(ctx, v, o) {
		return nil
	}
	c, err := v.Connect(ctx, vcenter.Options{UserAgent: o.UserAgent, Patience: o.Patience})
	if err != nil {
		l.refused(err)
		return nil
	}
	defer c.Close()
	l.ok("login", "%v lets us in", v)
	l.trust(ctx, v)
	o.OnStep(v.Name, "release and clock")
	l.release(ctx, c)
	l.clock(ctx, c, o)
	o.OnStep(v.Name, "inventory")
	inv, err := inventory.Read(ctx, c, o.Selection, categories)
	if err != nil {
		l.add(Error, "inventory", err.Error(), "no VM can be looked at", "check the selection, and that the account may read the datacenters")
		return nil
	}
	if o.Inspect != nil {
		o.Inspect(ctx, c, inv)
	}
	if o.Cluster != nil && o.NodesOnly {
		inv.VMs = o.Cluster.concerned(inv.VMs)
	}
	for _, w := range inv.Warnings {
		l.add(Warning, "inventory-warning", w, "what is said of VMs below is not about all that was asked for",
			"check the selection, and that the account may read tags")
	}
	switch {
	case len(inv.VMs) == 0 && len(inv.Absent) > 0: // which another vCenter may have
		l.ok("inventory", "0 VMs: it does not have all that was chosen")
		return inv
	case len(inv.VMs) == 0:
		l.add(Warning, "inventory", "there are no such VMs that the account may see", "no node can be found", "check the selection, and grant the account ReadOnly on the datacenters")
		return inv
	}
	l.ok("inventory", "%d VMs", len(inv.VMs))
	o.OnStep(v.Name, "privileges")
	l.privileges(ctx, c, inv)
	o.OnStep(v.Name, "tags")
	l.tags(ctx, c, inv, categories)
	o.OnStep(v.Name, "VMs")
	l.machines(ctx, c, inv.VMs)
	return inv
}

// refused says why there is no session.
func (l *list) refused(err error) {
	var untrusted *vcenter.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		l.add(Error, "certificate-trust", strings.TrimSuffix(untrusted.Error(), ": "+untrusted.Try), "nothing will talk to it", untrusted.Try)
	case errors.Is(err, client.ErrCertificate): // and it did not show its certificate again, or the authorities cannot be read
		l.add(Error, "certificate-trust", err.Error(), "nothing will talk to it", "check the file of authorities, and ask once more")
	case errors.Is(err, client.ErrInvalidLogin), errors.Is(err, client.ErrNoCredentials):
		l.add(Error, "login", err.Error(), "nothing can be asked", "check user and password; a user is written with its domain, such as cpi@vsphere.local")
	default:
		l.add(Error, "login", err.Error(), "nothing can be asked", "check that the account has a permission anywhere in the inventory, and that this is a vCenter")
	}
}

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // something works less well, or only by chance
	Error   Level = "error"   // something does not work
)

// Finding is one result of a check.
type Finding struct {
	// ID is what was checked, the same in every release: "certificate-expiry".
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// VCenter is the vCenter's name; empty where several are concerned.
	VCenter string `json:"vcenter,omitempty"`
	// Cluster is the Kubernetes cluster's name, where one is concerned.
	Cluster string `json:"cluster,omitempty"`
	// What is what was found. Why is what follows from it, and Try what to do; both are empty when all is well.
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Try  string `json:"try,omitempty"`
	// Objects are all that are concerned, where What may name a few: inventory paths of VMs, or names of nodes.
	Objects []string `json:"-"`
}

// list collects the findings of one vCenter, or of a cluster.
type list struct {
	vcenter, cluster string
	all              []Finding
}

func (l *list) ok(id, format string, args ...any) {
	l.all = append(l.all, Finding{ID: id, Level: OK, VCenter: l.vcenter, Cluster: l.cluster, What: fmt.Sprintf(format, args...)})
}

func (l *list) add(level Level, id, what, why, try string) {
	l.all = append(l.all, Finding{ID: id, Level: level, VCenter: l.vcenter, Cluster: l.cluster, What: what, Why: why, Try: try})
}

// concern says whom the latest finding is about.
func (l *list) concern(objects []string) { l.all[len(l.all)-1].Objects = objects }

// shown is how many names a finding spells out.
const shown = 5

// soon is when the end of a certificate is worth a word.
const soon = 30 * 24 * time.Hour

// certificate looks at what the vCenter shows. It is false when nobody is there.
func (l *list) certificate(ctx context.Context, v vcenter.VCenter, o Options) bool {
	patience := o.Patience
	if patience == 0 {
		patience = vcenter.Patience
	}
	dial, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	chain, err := v.Presented(dial)
	if err != nil || len(chain) == 0 {
		l.add(Error, "reachable", fmt.Sprintf("%s does not answer: %v", v.Address(), err), "nothing can be asked",
			"check server and port, name resolution and firewalls on the way")
		return false
	}
	l.ok("reachable", "%s speaks TLS", v.Address())
	leaf, first := chain[0], chain[0]
	for _, one := range chain[1:] { // an authority's may end before those that it signed
		if one.NotAfter.Before(first.NotAfter) {
			first = one
		}
	}
	whose := "its certificate"
	if first != leaf {
		whose = fmt.Sprintf("the certificate of %q, of its chain,", first.Subject)
	}
	end := first.NotAfter.UTC().Format(time.DateOnly)
	switch left := first.NotAfter.Sub(o.Now()); {
	case leaf.NotBefore.After(o.Now()):
		l.add(Error, "certificate-expiry", "its certificate is good from "+leaf.NotBefore.UTC().Format(time.DateTime)+" UTC only",
			"nothing that verifies it will talk to it", "correct this machine's clock, or the vCenter's")
	case left < 0:
		l.add(Error, "certificate-expiry", whose+" ended on "+end, "nothing that verifies it will talk to it",
			"renew it on the vCenter, or correct this machine's clock")
	case left < soon:
		l.add(Warning, "certificate-expiry", whose+" ends on "+end, "nothing that verifies it will talk to it then", "renew it on the vCenter")
	default:
		l.ok("certificate-expiry", "%s is good until %s", whose, end)
	}
	if err := leaf.VerifyHostname(v.Server); err != nil {
		l.add(Warning, "certificate-name", "its certificate is for another name: "+err.Error(),
			"it is trusted by its thumbprint only, or not verified at all", "put a name into the configuration that is in the certificate")
	} else {
		l.ok("certificate-name", "its certificate is for %s", v.Server)
	}
	return true
}

// trust says whom the certificate is vouched for by. Somebody was let in, so there is a reason; it may be a weak one.
func (l *list) trust(ctx context.Context, v vcenter.VCenter) {
	if v.Insecure {
		l.add(Warning, "certificate-trust", "its certificate is not verified", "whoever is in between reads the password",
			"take insecureFlag, or GOVC_INSECURE, away, and see what it takes to trust it")
		return
	}
	pinned := v.Thumbprint != ""
	v.Thumbprint = ""
	conn, err := v.DialTLS(ctx)
	switch {
	case err == nil:
		_ = conn.Close() // nothing was sent on it
		l.ok("certificate-trust", "an authority that is trusted here vouches for its certificate, and the chain is whole")
	case pinned:
		l.add(Warning, "certificate-trust", "its certificate is trusted by its thumbprint, and by no authority",
			"once it is renewed, nothing will talk to it", "give the authority's certificate in place of the thumbprint (caFile, GOVC_TLS_CA_CERTS)")
	default:
		l.add(Warning, "certificate-trust", err.Error(), "it was trusted a moment ago", "ask once more")
	}
}
