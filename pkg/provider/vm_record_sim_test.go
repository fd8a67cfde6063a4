package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	k8stesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// readOnly is the provider's account where permissions matter.
const readOnly = "ccm@vsphere.local"

// withAccount is a topology whose first vCenter has that account, and setup uses it.
func withAccount() setup {
	return setup{
		topology: strings.Replace(zones, "    - name: us\n", "    - name: us\n      users: [{name: "+readOnly+", password: s3cret}]\n"+
			"      permissions: [{user: "+readOnly+", role: ReadOnly}]\n", 1),
		secret: func(s *corev1.Secret) {
			s.Data["127.0.0.1.username"], s.Data["127.0.0.1.PASSWORD"] = []byte(readOnly), []byte("s3cret")
		},
	}
}

// successor is the provider of another process without any memory: it has separate sessions and a separate index, and the
// configuration from edit.
func (w *world) successor(t *testing.T, s setup, edit func(*config.Config)) *world {
	t.Helper()
	cfg := w.config(t, s)
	if edit != nil {
		edit(cfg)
	}
	opts := Options{CallTimeout: 3 * time.Second, MaxWait: time.Second, TagRefresh: time.Hour, StartWait: patience}
	if s.options != nil {
		s.options(&opts)
	}
	p, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	next := &world{Provider: p, sim: w.sim, k8s: w.k8s}
	ctx, cancel := context.WithCancel(context.Background())
	next.stop = func() {
		cancel()
		p.Wait()
	}
	t.Cleanup(next.stop)
	next.start(ctx, next.k8s)
	eventually(t, "every vcenter is in sync", next.synced)
	return next
}

// informed sets the provider's informers.
func (w *world) informed(t *testing.T) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(w.k8s, 0)
	w.SetInformers(factory)
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSyncWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
}

// node returns the cluster's node with that name.
func (w *world) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	n, err := w.k8s.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// remembers waits until a node's annotation has the VM that it is bound to.
func (w *world) remembers(t *testing.T, name string) vmRecord {
	t.Helper()
	var r vmRecord
	w.until(t, name, "remembers its vm", func(n *corev1.Node) bool {
		if n == nil {
			return false
		}
		vm, err := w.now().instances().find(n)
		if err != nil {
			return false
		}
		at, err := w.now().inv.Locate(vm)
		r, _ = recordOf(n)
		return err == nil && r.location() == at
	})
	return r
}

func (w *world) admin(t *testing.T) (*find.Finder, *object.AuthorizationManager) {
	t.Helper()
	client := w.sim.Client("us").Client
	return find.NewFinder(client), object.NewAuthorizationManager(client)
}

// vmUUID changes the BIOS UUID of a VM of the first vCenter.
func vmUUID(u string) func(*object.VirtualMachine, context.Context) (*object.Task, error) {
	return func(vm *object.VirtualMachine, ctx context.Context) (*object.Task, error) {
		return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Uuid: u})
	}
}

// The annotation survives the process: the next one does not delete the node if its vCenter is no longer configured, its VM is hidden,
// or its VM has another UUID. It does if the VM is gone.
func TestRememberedByTheNext(t *testing.T) {
	const noAccess = -5
	hide := func(paths ...string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			finder, m := w.admin(t)
			for _, path := range paths {
				list, err := finder.ManagedObjectList(t.Context(), path)
				if err != nil || len(list) != 1 {
					t.Fatalf("%v, %v", list, err)
				}
				err = m.SetEntityPermissions(t.Context(), list[0].Object.Reference(), []types.Permission{
					{Principal: readOnly, RoleId: noAccess, Propagate: true},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	without := func(cfg *config.Config) {
		cfg.VCenters = slices.DeleteFunc(cfg.VCenters, func(vc config.VCenter) bool { return vc.Tenant == "us" })
	}
	for _, tc := range []struct {
		name   string
		strike func(*testing.T, *world)
		edit   func(*config.Config)
		reason string // of the event; empty if the node is gone
	}{
		{"vcenter not configured", nil, without, ReasonVCenterNotConfigured},
		{"vm hidden", hide("/west/vm/w1"), nil, ReasonDeletionHeldBack},
		// A VM has the permissions of its folder and those of its resource pool.
		{"vm folder and pool hidden", hide("/west/vm", "/west/host/c1"), nil, ReasonDeletionHeldBack},
		{"datacenter hidden", hide("/west"), nil, ReasonDeletionHeldBack},
		{"uuid changed", func(t *testing.T, w *world) { w.do(t, "/west/vm/w1", vmUUID(unknown)) }, nil, ReasonVMUUIDChanged},
		{"gone", func(t *testing.T, w *world) {
			w.do(t, "/west/vm/w1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
		}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := withAccount()
			w := startWith(t, s)
			eventually(t, "every vcenter is in sync", w.synced)
			w.create(t, namedNode("w1", "vsphere://"+w1UUID))
			w.informed(t)
			if _, err := w.InstanceMetadata(t.Context(), w.node(t, "w1")); err != nil {
				t.Fatal(err)
			}
			if r := w.remembers(t, "w1"); r.Server != "127.0.0.1" || r.UUID != w1UUID {
				t.Errorf("remembers %+v", r)
			}
			w.stop()
			if tc.strike != nil {
				tc.strike(t, w)
			}
			next := w.successor(t, s, tc.edit)
			exists, err := next.InstanceExists(t.Context(), w.node(t, "w1"))
			off, offErr := next.InstanceShutdown(t.Context(), w.node(t, "w1"))
			if off || offErr == nil {
				t.Errorf("off %v, %v", off, offErr)
			}
			if tc.reason == "" {
				if exists || err != nil {
					t.Fatalf("exists %v, %v", exists, err)
				}
				next.expectEvent(t, "w1", ReasonVMGone, "(eu, us)", "no longer has")
				return
			}
			if !exists && err == nil {
				t.Fatal("gone")
			}
			next.expectEvent(t, "w1", tc.reason)
			// The old interface, with a providerID alone, returns the same.
			next.informed(t)
			if exists, err := (legacy{next.Provider}).InstanceExistsByProviderID(t.Context(), "vsphere://"+w1UUID); !exists && err == nil {
				t.Error("gone, by providerID")
			}
			// Without the annotation nothing is held back: this is how to release such a node.
			n := w.node(t, "w1")
			delete(n.Annotations, VMAnnotation)
			if exists, err := next.InstanceExists(t.Context(), n); tc.edit != nil && (exists || err != nil) {
				t.Errorf("let go: exists %v, %v", exists, err)
			}
		})
	}
}

// The annotation is written once, in a patch without other changes, to any node; it is repaired, and it follows the VM.
func TestAnnotationIsWritten(t *testing.T) {
	w := start(t, nil)
	ready := uninitialized(namedNode("w1", "")) // its VM is gone for a moment: one that is not ready would be deleted
	ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.create(t, ready, namedNode("old", "vsphere://"+eu1UUID), namedNode("kind", "kind://docker/kind/x"), namedNode("gone", "vsphere://"+unknown))
	w.runStock(t)
	w.until(t, "w1", "is initialized", func(n *corev1.Node) bool { return initialized(n) && n.Spec.ProviderID == "vsphere://"+w1UUID })
	first, other := w.remembers(t, "w1"), w.remembers(t, "old")
	if first.VCenter == other.VCenter || first.VM == "" {
		t.Errorf("remember %+v and %+v", first, other)
	}
	set := func(name, text string) {
		t.Helper()
		n := w.node(t, name)
		n.Annotations = map[string]string{VMAnnotation: text, "other": "stays"}
		if _, err := w.k8s.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The fake API server knows no conflicts: the stock node controller may write an older Node over it. So it is set until there is the event.
	eventually(t, "w1: "+ReasonVMAnnotationIgnored, func() error {
		set("w1", "{garbage")
		if diff := cmp.Diff(first, w.remembers(t, "w1")); diff != "" {
			t.Error(diff)
		}
		return w.hasEvent(t, "w1", ReasonVMAnnotationIgnored, VMAnnotation)
	})
	set("w1", w.node(t, "old").Annotations[VMAnnotation])
	w.remembers(t, "w1")
	if n := w.node(t, "w1"); n.Annotations["other"] != "stays" {
		t.Errorf("annotations %v", n.Annotations)
	}
	// Registered again: the same UUID with another reference.
	again := func(vm *object.VirtualMachine, ctx context.Context) (*object.Task, error) {
		finder, _ := w.admin(t)
		dc, err := finder.Datacenter(ctx, "/west")
		if err != nil {
			return nil, err
		}
		folders, err := dc.Folders(ctx)
		if err != nil {
			return nil, err
		}
		pool, err := vm.ResourcePool(ctx)
		if err != nil {
			return nil, err
		}
		var before mo.VirtualMachine
		if err := vm.Properties(ctx, vm.Reference(), []string{"summary.config.vmPathName"}, &before); err != nil {
			return nil, err
		}
		if err := vm.Unregister(ctx); err != nil {
			return nil, err
		}
		return folders.VmFolder.RegisterVM(ctx, before.Summary.Config.VmPathName, "w1", false, pool, nil)
	}
	w.do(t, "/west/vm/w1", (*object.VirtualMachine).PowerOff, again)
	eventually(t, "the annotation follows the vm", func() error {
		if r, err := recordOf(w.node(t, "w1")); err != nil || r.VM == first.VM {
			return fmt.Errorf("%+v, %w", r, err)
		}
		return nil
	})
	w.remembers(t, "w1")
	for _, name := range []string{"kind", "gone"} {
		if n, err := w.k8s.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); err == nil && n.Annotations[VMAnnotation] != "" {
			t.Errorf("%s remembers %s", name, n.Annotations[VMAnnotation])
		}
	}
	// Nothing is written while nothing changes.
	patches := func() (count int) {
		for _, a := range w.k8s.Actions() {
			if p, ok := a.(k8stesting.PatchAction); ok && strings.Contains(string(p.GetPatch()), VMAnnotation) {
				count++
			}
		}
		return count
	}
	before := patches()
	for range 50 {
		if _, err := w.InstanceMetadata(t.Context(), w.node(t, "old")); err != nil {
			t.Fatal(err)
		}
	}
	// A call repeats a patch until the watch shows it, so their number before depends on the machine's load.
	if after := patches(); after != before || before > 30 {
		t.Errorf("%d patches, then %d", before, after)
	}
}

// A patch that the API server refuses is tried again; a node with another UID is left alone.
func TestAnnotationIsTriedAgain(t *testing.T) {
	w := start(t, nil)
	refusals := 3
	w.k8s.PrependReactor("patch", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		if refusals--; refusals >= 0 {
			return true, nil, errors.New("not now")
		}
		return false, nil, nil
	})
	w.create(t, namedNode("w1", "vsphere://"+w1UUID))
	w.informed(t)
	w.remembers(t, "w1")
	if refusals >= 0 {
		t.Errorf("%d refusals were left", refusals)
	}
}

// A Node never has a providerID without an annotation, whenever the process is killed; a Node that may not be patched is initialized
// nevertheless.
func TestAnnotationComesFirst(t *testing.T) {
	for _, forbidden := range []bool{false, true} {
		w := start(t, nil)
		var mu sync.Mutex
		bare := 0
		w.k8s.PrependReactor("update", "nodes", func(a k8stesting.Action) (bool, runtime.Object, error) {
			if n, ok := a.(k8stesting.UpdateAction).GetObject().(*corev1.Node); ok && n.Spec.ProviderID != "" && n.Annotations[VMAnnotation] == "" {
				mu.Lock()
				defer mu.Unlock()
				bare++
			}
			return false, nil, nil
		})
		if forbidden {
			w.k8s.PrependReactor("patch", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "w1", nil)
			})
		}
		w.create(t, uninitialized(namedNode("w1", "")))
		w.runStock(t)
		w.until(t, "w1", "is initialized", func(n *corev1.Node) bool { return initialized(n) && n.Spec.ProviderID == "vsphere://"+w1UUID })
		mu.Lock()
		if (bare > 0) != forbidden {
			t.Errorf("forbidden %v: %d updates of a node that remembers nothing", forbidden, bare)
		}
		mu.Unlock()
	}
}

// With upstream's parity nothing is written.
func TestAnnotationIsNotUpstreams(t *testing.T) {
	w := startWith(t, setup{options: func(o *Options) { o.Parity = ParityUpstream }})
	eventually(t, "every vcenter is in sync", w.synced)
	w.create(t, uninitialized(namedNode("w1", "")))
	w.runStock(t)
	w.until(t, "w1", "is initialized", func(n *corev1.Node) bool { return initialized(n) && n.Spec.ProviderID != "" })
	for range 20 {
		if _, err := w.InstanceMetadata(t.Context(), w.node(t, "w1")); err != nil {
			t.Fatal(err)
		}
	}
	w.stop()
	if n := w.node(t, "w1"); n.Annotations[VMAnnotation] != "" {
		t.Errorf("annotations %v", n.Annotations)
	}
}
