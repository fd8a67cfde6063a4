package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// vmIndex is the part of [inventory.Inventory] that instances uses.
type vmIndex interface {
	ByUUID(match.UUID) inventory.Result
	ByHostName(name string) inventory.Result
	ByIP(netip.Addr) inventory.Result
	Datacenter(*inventory.VM) string
	Zone(*inventory.VM) (inventory.Zone, error)
	ConfirmAbsent(context.Context, match.UUID) error
	Hidden(match.Node, match.Behavior) error
	Locate(*inventory.VM) (inventory.Location, error)
	ConfirmRemoved(context.Context, inventory.Location, match.UUID) error
}

// instances answers queries about nodes, each from one generation throughout. It writes no Events: [Provider]'s methods
// do.
type instances struct {
	inv     vmIndex
	cfg     *config.Config
	labels  map[string]string
	choices choices
	metrics *metrics.Metrics // nil for none
}

func (g *generation) instances() instances {
	return instances{inv: g.inv, cfg: g.cfg, labels: g.opts.NodeLabels, choices: choicesOf(g.opts.Parity), metrics: g.metrics}
}

var _ cloudprovider.InstancesV2 = (*Provider)(nil)

// InstanceMetadata implements [cloudprovider.InstancesV2]. It answers from the index, without a call to a vCenter.
// Anything still unknown is an error, and the caller retries. For a node that is not initialized it first writes the
// annotation [VMAnnotation]. An initialized node keeps the region and zone of its labels while tags are missing, so that
// its addresses can be updated.
func (p *Provider) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	m, err := p.now().instances().metadata(node)
	p.nodes.events.metadata(node, m, err)
	if m == nil {
		p.enqueueAnnotation(node)
		return nil, err
	}
	if err := p.annotateFirst(ctx, node, m); err != nil {
		return nil, err
	}
	p.enqueueAnnotation(node)
	return m, nil
}

// InstanceShutdown implements [cloudprovider.InstancesV2]. It uses the power state alone, because the guest of a VM that is
// off reports nothing. Suspended counts as shut down.
func (p *Provider) InstanceShutdown(_ context.Context, node *corev1.Node) (bool, error) {
	off, err := p.now().instances().shutdown(node)
	p.nodes.events.shutdown(node, err)
	return off, err
}

// metadata returns both metadata and an error if the error is worth reporting but does not prevent the answer.
func (i instances) metadata(node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	vm, err := i.find(node)
	if err != nil {
		return nil, err
	}
	if vm.UUID == (match.UUID{}) {
		return nil, fmt.Errorf("node %q: vm %s: its uuid is not known yet", node.Name, vm)
	}
	addresses, warning, err := i.selected(vm, node)
	zone, zoneErr := i.zone(vm)
	if err != nil || zoneErr != nil && (!initialized(node) || i.choices.zoneHoldsAddresses) {
		return nil, fmt.Errorf("node %q: %w", node.Name, joinErrors(err, zoneErr))
	}
	if other, ok, _ := i.elsewhere(node, vm.UUID); ok {
		warning = joinErrors(&match.StaleError{ProviderID: node.Spec.ProviderID, RunsOn: other.String()}, warning)
	}
	if zoneErr != nil {
		zone = inventory.Zone{Region: node.Labels[corev1.LabelTopologyRegion], Zone: node.Labels[corev1.LabelTopologyZone]}
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       match.ProviderID(vm.UUID),
		InstanceType:     instanceType(vm),
		NodeAddresses:    addresses,
		Zone:             zone.Zone,
		Region:           zone.Region,
		AdditionalLabels: maps.Clone(i.labels),
	}, wrap(joinErrors(zoneErr, warning), fmt.Sprintf("node %q", node.Name))
}

// find returns the VM of a node from the index. An error that wraps [match.ErrNotFound] means only that the index has none.
func (i instances) find(node *corev1.Node) (*inventory.VM, error) {
	i.inv = counting(i.inv, i.metrics, node)
	vm, err := i.match(node)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", node.Name, i.hidden(node, err))
	}
	return vm, nil
}

// hidden adds to an error that the index has no VM for the node why the configuration may hide it.
func (i instances) hidden(node *corev1.Node, err error) error {
	if !errors.Is(err, match.ErrNotFound) || unavailable(err) {
		return err
	}
	if why := i.inv.Hidden(kubenode.Facts(node), i.choices.Behavior); why != nil {
		return joinErrors(err, why)
	}
	return err
}

func (i instances) match(node *corev1.Node) (*inventory.VM, error) {
	if node.Spec.ProviderID == "" && i.choices.nameDecides {
		return i.byExactName(node)
	}
	a := match.Find(kubenode.Facts(node), i.inv, i.choices.Behavior)
	return a.VM, a.Err
}

func (i instances) elsewhere(node *corev1.Node, bound match.UUID) (other *inventory.VM, ok bool, doubt error) {
	return match.FindDifferent(kubenode.Facts(node), bound, i.inv, i.choices.Behavior)
}

// initialized reports whether the node has lost the taint that it registers with.
func initialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}

// joinErrors is [errors.Join] on one line, for logs and Events.
func joinErrors(a, b error) error {
	if a == nil || b == nil {
		return errors.Join(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

func wrap(err error, subject string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", subject, err)
}

// instanceType describes a VM's size and guest as upstream does, with memory in whole GB rounded down:
// "vsphere-vm.cpu-4.mem-8gb.os-ubuntu".
func instanceType(vm *inventory.VM) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", vm.NumCPU, vm.MemoryMB/1024, guestOS(vm.GuestID))
}

// guestOS returns upstream's short name of a guest identifier (VirtualMachineGuestOsIdentifier), as in
// pkg/cloudprovider/vsphere/types.go, GuestOSLookup, which has rhel8, rhel9 and rhel10 since v1.36. An identifier that
// upstream does not know is "unknown" here too, because the name becomes part of a label that selects nodes.
func guestOS(id string) string {
	family := guestFamily(id)
	switch family {
	case "":
		return unknownGuest
	case "centos", "sles":
		// Upstream keeps the word width of these two.
		if strings.HasSuffix(id, "64Guest") {
			return family + "64"
		}
		return family
	case "genericLinux", "otherLinux", "other24xLinux", "other26xLinux", "other3xLinux":
		return "linux"
	case "darwin", "darwin10", "darwin11", "darwin12", "darwin13", "darwin14", "darwin15", "darwin16":
		return "darwin"
	case "redhat":
		return "rhel"
	case "vmwarePhoton":
		return "photon"
	case "windows7", "windows7Server", "windows8", "windows8Server":
		return strings.ToLower(strings.Replace(family, "windows", "win", 1))
	case "windows9", "windows9Server":
		return strings.ToLower(strings.Replace(family, "windows9", "win10", 1))
	case "turboLinux", "unixWare7", "win2000AdvServ", "win2000Pro", "win2000Serv", "winLonghorn", "winMe", "winNT",
		"winNetBusiness", "winNetDatacenter", "winNetEnterprise", "winNetStandard", "winNetWeb", "winVista", "winXPHome",
		"winXPPro", "windowsHyperV":
		return strings.ToLower(family)
	case "asianux3", "asianux4", "asianux5", "asianux7", "centos6", "centos7", "coreos", "debian4", "debian5", "debian6",
		"debian7", "debian8", "debian9", "debian10", "dos", "eComStation", "eComStation2", "fedora", "freebsd", "mandrake",
		"mandriva", "netware4", "netware5", "netware6", "nld9", "oes", "openServer5", "openServer6", "opensuse",
		"oracleLinux", "oracleLinux6", "oracleLinux7", "os2", "other", "rhel2", "rhel3", "rhel4", "rhel5", "rhel6", "rhel7",
		"rhel8", "rhel9", "rhel10", "sjds", "sles10", "sles11", "sles12", "solaris6", "solaris7", "solaris8", "solaris9",
		"solaris10", "solaris11", "suse", "ubuntu", "vmkernel", "vmkernel5", "vmkernel6", "vmkernel65", "win31", "win95", "win98":
		return family
	}
	return unknownGuest
}

const unknownGuest = "unknown"

// guestFamily returns an identifier without the common suffix and the word width: "rhel8" for "rhel8_64Guest", "ubuntu"
// for "ubuntu64Guest", "other" for "otherGuest64". It returns "" if id is not an identifier.
func guestFamily(id string) string {
	family, ok := strings.CutSuffix(strings.TrimSuffix(id, "64"), "Guest")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(family, "64"), "_")
}

// checkNodeLabels validates labels for nodes. Upstream checks only the keys: a value that the API server refuses fails at
// every node forever (cmd/vsphere-cloud-controller-manager/main.go).
func checkNodeLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("node label %q: key is not a qualified name: %s", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			return fmt.Errorf("node label %q: value %q: %s", key, labels[key], strings.Join(problems, "; "))
		}
	}
	return nil
}

// warnNodeLabels logs labels that no node will get: the node controller of k8s.io/cloud-provider drops those in
// Kubernetes' own domains.
func warnNodeLabels(log *slog.Logger, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, _, _ := strings.Cut(key, "/")
		for _, domain := range []string{"kubernetes.io", "k8s.io"} {
			if prefix != key && (prefix == domain || strings.HasSuffix(prefix, "."+domain)) {
				log.Warn("node label is dropped", "label", key, "why", "the domain is reserved")
			}
		}
	}
}

// ErrTagName reports that the name of a region or zone tag is not a valid label value.
var ErrTagName = errors.New("cannot be a label")

// zone returns the region and zone of vm. It refuses tag names that are not valid label values: the API server would
// reject the node as a whole, forever, without naming the tag.
func (i instances) zone(vm *inventory.VM) (inventory.Zone, error) {
	z, err := i.inv.Zone(vm)
	if err != nil || i.choices.anyTagName {
		return z, err
	}
	for _, t := range [...]struct{ category, tag string }{{i.cfg.Labels.Region, z.Region}, {i.cfg.Labels.Zone, z.Zone}} {
		if problems := validation.IsValidLabelValue(t.tag); len(problems) > 0 {
			return z, fmt.Errorf("vm %s: tag %q of category %q %w: %s", vm, t.tag, t.category, ErrTagName, strings.Join(problems, "; "))
		}
	}
	return z, nil
}
