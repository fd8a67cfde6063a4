package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Options configures [Check]. UserAgent is mandatory.
type Options struct {
	// UserAgent is sent with every request.
	UserAgent string
	// Selection selects the VMs that are, or will be, nodes; the zero value means all.
	Selection inventory.Selection
	// Patience is the timeout of every call. Default: that of package vcenter.
	Patience time.Duration
	// Now returns the local time. Default: time.Now.
	Now func() time.Time
	// Cluster, if set, is the cluster whose nodes are matched with the VMs.
	Cluster *Cluster
	// NodesOnly, with a Cluster, ignores VMs that are not its nodes and do not share a name with one.
	NodesOnly bool
	// Inspect, if set, is called with everything that was read of a vCenter; it must not change it.
	Inspect func(ctx context.Context, c *vcenter.Connection, inv *inventory.Inventory)
	// OnStep, if set, is called with each step before it starts; vCenters may be slow.
	OnStep func(vcenter, what string)
}

// Check checks every vCenter of a configuration in turn, and then duplicates among their VMs. What cannot be checked is a
// finding, too.
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
	if err := inventory.CheckAbsent(invs...); err != nil && len(invs) == len(config.VCenters) {
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

// one checks a vCenter, and returns what was read; nil if its VMs are unknown.
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
	case len(inv.VMs) == 0 && len(inv.Absent) > 0: // another vCenter may have them
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
	l.vms(ctx, c, inv.VMs)
	return inv
}

// refused adds the finding for a failed login.
func (l *list) refused(err error) {
	var untrusted *vcenter.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		l.add(Error, "certificate-trust", strings.TrimSuffix(untrusted.Error(), ": "+untrusted.Try), "nothing will talk to it", untrusted.Try)
	case errors.Is(err, client.ErrCertificate): // and the certificate or the authorities could not be read again
		l.add(Error, "certificate-trust", err.Error(), "nothing will talk to it", "check the file of authorities, and ask once more")
	case errors.Is(err, client.ErrInvalidLogin), errors.Is(err, client.ErrNoCredentials):
		l.add(Error, "login", err.Error(), "nothing can be asked", "check user and password; a user is written with its domain, such as cpi@vsphere.local")
	default:
		l.add(Error, "login", err.Error(), "nothing can be asked", "check that the account has a permission anywhere in the inventory, and that this is a vCenter")
	}
}

// Level is the severity of a finding.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // a feature works less well, or by chance
	Error   Level = "error"   // a feature does not work
)

// Finding is a result of a check.
type Finding struct {
	// ID is the ID of the check, stable between releases: "certificate-expiry".
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// VCenter is the vCenter's name; empty if several are concerned.
	VCenter string `json:"vcenter,omitempty"`
	// Cluster is the Kubernetes cluster's name, if one is concerned.
	Cluster string `json:"cluster,omitempty"`
	// What is the finding, Why its consequence, and Try the solution; the last two are empty for a good one.
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Try  string `json:"try,omitempty"`
	// Objects are all objects, if What names only some: inventory paths of VMs, or names of nodes.
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

// concern sets the objects of the latest finding.
func (l *list) concern(objects []string) { l.all[len(l.all)-1].Objects = objects }

// shown is the number of names in a finding.
const shown = 5

// soon is the warning time before a certificate expires.
const soon = 30 * 24 * time.Hour

// certificate checks the certificate of the vCenter. It returns false if there is no connection.
func (l *list) certificate(ctx context.Context, v vcenter.VCenter, o Options) bool {
	patience := o.Patience
	patience = cmp.Or(patience, vcenter.Patience)
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
	for _, one := range chain[1:] { // an authority's may expire before those that it signed
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

// trust reports why the certificate is trusted. The login succeeded, so there is a reason, which may be weak.
func (l *list) trust(ctx context.Context, v vcenter.VCenter) {
	if v.Insecure {
		l.add(Warning, "certificate-trust", "its certificate is not verified", "a man in the middle can read the password",
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
