package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	corefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// center is a vCenter in memory. It reports changes of its VMs to the Supervisor.
type center struct {
	mu      sync.Mutex
	vms     map[string]VM // by name
	done    []string
	fail    error // of Destroy
	changed func(names ...string)
}

func (c *center) VM(id string) (VM, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, vm := range c.vms {
		if vm.UniqueID == id {
			return vm, true
		}
	}
	return VM{}, false
}

func (c *center) ByName(name string) []VM {
	c.mu.Lock()
	defer c.mu.Unlock()
	if vm, ok := c.vms[name]; ok {
		return []VM{vm}
	}
	return nil
}

// set makes the VM one with these changes; a nil change removes it.
func (c *center) set(name string, change func(*VM)) {
	c.mu.Lock()
	vm := c.vms[name]
	if delete(c.vms, name); change != nil {
		change(&vm)
		c.vms[name] = vm
	}
	changed := c.changed
	c.mu.Unlock()
	if changed != nil {
		changed(name)
	}
}

func (c *center) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, fmt.Sprintf(format, args...))
}

func (c *center) did(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.done, what)
}

func (c *center) Create(_ context.Context, s Spec) error {
	c.note("create %s of %s in %s with %d MiB", s.Name, s.Image, s.Zone, s.MemoryMiB)
	c.set(s.Name, func(vm *VM) {
		*vm = VM{Name: s.Name, UniqueID: "vm-" + s.Name, BIOSUUID: s.BIOSUUID, InstanceUUID: s.InstanceUUID, Power: "on", Zone: s.Zone}
	})
	return nil
}

func (c *center) SetPower(_ context.Context, vm VM, power string) error {
	c.note("%s is %s", vm.Name, power)
	c.set(vm.Name, func(vm *VM) { vm.Power = power })
	return nil
}

func (c *center) Destroy(_ context.Context, vm VM) error {
	c.note("destroy %s", vm.Name)
	c.mu.Lock()
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		return fail
	}
	c.set(vm.Name, nil)
	return nil
}

// running is a Supervisor with all its controllers over API servers in memory. These know neither finalizers nor conflicts.
type running struct {
	t *testing.T
	*Supervisor
	vc      *center
	core    *corefake.Clientset
	objects *dynamicfake.FakeDynamicClient
	writing sync.Mutex
	tokens  int
}

// newRunning starts one with a guest cluster of one VM, which is worker.
func newRunning(t *testing.T) *running {
	t.Helper()
	r := &running{t: t, core: corefake.NewClientset(), vc: &center{vms: map[string]VM{"worker": {
		Name: "worker", UniqueID: "vm-7", BIOSUUID: "4237d1b0-0000-4000-8000-000000000001", Power: "on", Zone: "a", Tools: true,
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.5")}, MAC: "00:50:56:00:00:07",
	}}}}
	lists := map[schema.GroupVersionResource]string{
		definitionResource(): "CustomResourceDefinitionList", storageClasses(): "StorageClassList",
		claims(): "PersistentVolumeClaimList", volumes(): "PersistentVolumeList",
	}
	var stored []runtime.Object
	for _, body := range Definitions() {
		o := new(unstructured.Unstructured)
		if err := o.UnmarshalJSON(body); err != nil {
			t.Fatal(err)
		}
		stored = append(stored, o)
		var d struct {
			Spec struct {
				Group    string
				Names    struct{ Plural, Kind string }
				Versions []struct{ Name string }
			}
		}
		if err := json.Unmarshal(body, &d); err != nil {
			t.Fatal(err)
		}
		for _, v := range d.Spec.Versions {
			lists[resource(d.Spec.Group, v.Name, d.Spec.Names.Plural)] = d.Spec.Names.Kind + "List"
		}
	}
	r.objects = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, stored...)
	r.core.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "token" {
			return false, nil, nil
		}
		if c, ok := a.(clienttesting.CreateActionImpl); ok && c.Name != "guest-ccm" {
			return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
				Token: "of " + c.Name, ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour)),
			}}, nil
		}
		r.tokens++
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: fmt.Sprintf("token-%d", r.tokens), ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour)),
		}}, nil
	})
	r.objects.PrependReactor("update", "*", r.update)
	r.start()
	return r
}

// update stores an object as an API server does: status and the rest are written apart, and no update takes a deletion back.
func (r *running) update(a clienttesting.Action) (bool, runtime.Object, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	next := a.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured).DeepCopy()
	was, err := r.objects.Tracker().Get(a.GetResource(), a.GetNamespace(), next.GetName())
	if err != nil {
		return true, nil, err
	}
	had := was.(*unstructured.Unstructured).DeepCopy()
	if a.GetSubresource() == "status" {
		had.Object["status"] = next.Object["status"]
		next = had
	} else {
		next.Object["status"] = had.Object["status"]
		if next.GetDeletionTimestamp() == nil {
			next.SetDeletionTimestamp(had.GetDeletionTimestamp())
		}
	}
	return true, next, r.objects.Tracker().Update(a.GetResource(), next, a.GetNamespace())
}

// start starts the controllers over what the API servers have.
func (r *running) start() {
	r.t.Helper()
	s, err := start(r.t.Context(), Options{
		VCenter: r.vc, Storage: &fakeStorage{}, OnVolume: func(string, string, bool) {}, Addresses: addresses("127.1.0.101", "127.1.0.102"), TokenLifetime: time.Hour, OnToken: func(string) error { return nil },
		Setup: Setup{
			Namespaces: []Namespace{{Name: "ns", Zones: []string{"a", "b"}, Classes: []string{"best-effort-small"}, StoragePolicies: []string{"shared"}}},
			Zones:      []Zone{{Name: "a"}, {Name: "b"}}, Images: []string{"photon-5"}, VPC: true,
			Guests: []Guest{{Name: "guest", Namespace: "ns", VMs: []GuestVM{{Name: "worker", Zone: "a"}}}},
		},
	}, r.core, r.objects)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Supervisor = s
	r.vc.mu.Lock()
	r.vc.changed = s.VMsChanged
	r.vc.mu.Unlock()
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), 10*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			r.t.Error(err)
		}
	})
}

// until waits for a condition.
func (r *running) until(what string, is func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within 10s: %s", what)
		}
	}
}

func (r *running) object(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	r.t.Helper()
	o, err := r.objects.Resource(gvr).Namespace("ns").Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		r.t.Fatal(err)
	}
	return cmp.Or(o, &unstructured.Unstructured{}) // of one that does not exist, an empty one
}

func (r *running) make(gvr schema.GroupVersionResource, kind, name string, labels map[string]string, spec map[string]any) {
	r.t.Helper()
	o := object(gvr, kind, "ns", name, spec)
	o.SetUID(types.UID("99d533a7-94c3-49c4-bae1-" + fmt.Sprintf("%012d", len(name))))
	o.SetLabels(labels)
	if _, err := r.objects.Resource(gvr).Namespace("ns").Create(r.t.Context(), o.Unstructured, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// change updates an object as a client does.
func (r *running) change(gvr schema.GroupVersionResource, name string, change func(*unstructured.Unstructured)) {
	r.t.Helper()
	o := r.object(gvr, name)
	change(o)
	if _, err := r.objects.Resource(gvr).Namespace("ns").Update(r.t.Context(), o, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// leave deletes an object that has finalizers, as an API server does it.
func (r *running) leave(gvr schema.GroupVersionResource, name string) {
	r.t.Helper()
	r.change(gvr, name, func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(new(metav1.NewTime(time.Unix(1, 0)))) })
}

func (r *running) conditionOf(name, kind string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(r.object(machines(), name).Object, "status", "conditions")
	for _, c := range conditions {
		if m := c.(map[string]any); m["type"] == kind {
			return m["status"].(string), m["message"].(string)
		}
	}
	return "", ""
}

// TestMachineFollowsVM: the VirtualMachine of a VM that exists has its identity and state, and makes its spec true.
func TestMachineFollowsVM(t *testing.T) {
	r := newRunning(t)
	status := func(field string) string { return text(r.object(machines(), "worker"), "status", field) }
	r.until("identity", func() bool {
		return status("uniqueID") == "vm-7" && status("biosUUID") == "4237d1b0-0000-4000-8000-000000000001" && status("powerState") == poweredOn && status("zone") == "a"
	})
	r.vc.set("worker", func(vm *VM) { vm.Addresses = addresses("10.0.0.6") })
	r.until("another address", func() bool {
		return text(r.object(machines(), "worker"), "status", "network", "primaryIP4") == "10.0.0.6"
	})
	r.vc.set("worker", func(vm *VM) { vm.Power = "off" })
	r.until("a VM whose spec says PoweredOn is powered on again", func() bool { return r.vc.did("worker is on") })
	r.change(machines(), "worker", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, suspended, "spec", "powerState")
	})
	r.until("suspended", func() bool { return r.vc.did("worker is suspended") && status("powerState") == suspended })
}

// TestMachineMakesVM: a new VirtualMachine is cloned in the zone of its label, or in the emptiest one; one that lacks something says what.
func TestMachineMakesVM(t *testing.T) {
	r := newRunning(t)
	r.make(machines(), "VirtualMachine", "new", nil, map[string]any{"className": "best-effort-small", "imageName": "photon-5", "storageClass": "shared"})
	r.until("the VM", func() bool { return r.vc.did("create new of photon-5 in b with 4096 MiB") })
	r.until("its status", func() bool {
		m := r.object(machines(), "new")
		created, _ := r.conditionOf("new", "VirtualMachineCreated")
		return text(m, "status", "uniqueID") == "vm-new" && created == "True" && slices.Contains(m.GetFinalizers(), machineFinalizer) &&
			text(m, "status", "biosUUID") == text(m, "spec", "biosUUID") && strings.HasPrefix(text(m, "spec", "biosUUID"), "42d533a7-")
	})
	for _, tc := range []struct{ name, class, image, policy, zone, condition, want string }{
		{"class", "huge", "photon-5", "", "a", "VirtualMachineClassReady", `VirtualMachineClass "huge" not found in namespace ns`},
		{"images", "best-effort-small", "dos", "", "a", "VirtualMachineImageReady", `VirtualMachineImage "dos" not found`},
		{"policies", "best-effort-small", "photon-5", "gold", "a", "VirtualMachineStorageReady", `StorageClass "gold" is not assigned to namespace ns`},
		{"zone", "best-effort-small", "photon-5", "", "mars", "VirtualMachineConditionPlacementReady", `zone "mars" is not assigned to namespace ns`},
	} {
		r.make(machines(), "VirtualMachine", tc.name, map[string]string{ZoneLabel: tc.zone}, map[string]any{"className": tc.class, "imageName": tc.image, "storageClass": tc.policy})
		r.until(tc.want, func() bool {
			status, message := r.conditionOf(tc.name, tc.condition)
			return status == "False" && message == tc.want
		})
		if len(r.vc.ByName(tc.name)) != 0 {
			t.Errorf("%s has a VM", tc.name)
		}
	}
}

// TestMachineLeavesLast: the object goes when its VM is gone, not before.
func TestMachineLeavesLast(t *testing.T) {
	r := newRunning(t)
	r.until("finalizer", func() bool { return slices.Contains(r.object(machines(), "worker").GetFinalizers(), machineFinalizer) })
	r.vc.mu.Lock()
	r.vc.fail = errors.New("the vCenter does not answer")
	r.vc.mu.Unlock()
	r.leave(machines(), "worker")
	r.until("a try", func() bool { return r.vc.did("destroy worker") })
	if !slices.Contains(r.object(machines(), "worker").GetFinalizers(), machineFinalizer) {
		t.Fatal("the object may go, and its VM is there")
	}
	r.vc.mu.Lock()
	r.vc.fail = nil
	r.vc.mu.Unlock()
	r.until("no finalizer", func() bool { return len(r.object(machines(), "worker").GetFinalizers()) == 0 })
	if len(r.vc.ByName("worker")) != 0 {
		t.Error("the VM is there")
	}
}

// balance creates a VirtualMachineService.
func (r *running) balance(name string) {
	r.make(machineServices(), "VirtualMachineService", name, map[string]string{"run.tanzu.vmware.com/service.name": name}, map[string]any{
		"type": "LoadBalancer", "selector": map[string]any{ClusterLabel: "guest", RoleLabel: RoleNode},
		"ports": []any{map[string]any{"name": "http", "protocol": "TCP", "port": int64(80), "targetPort": int64(31080)}},
	})
}

func (r *running) ingress(name string) string {
	all, _, _ := unstructured.NestedSlice(r.object(machineServices(), name).Object, "status", "loadBalancer", "ingress")
	if len(all) == 0 {
		return ""
	}
	ip, _ := all[0].(map[string]any)["ip"].(string)
	return ip
}

func (r *running) state(name string) Service {
	r.t.Helper()
	all, err := r.Services(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, v := range all {
		if v.GetName() == name {
			return v
		}
	}
	return Service{}
}

// TestBalancer: a VirtualMachineService is a Service with an address, and Endpoints of the machines that it selects, which follow them.
func TestBalancer(t *testing.T) {
	r := newRunning(t)
	r.balance("web")
	r.until("an address", func() bool { return r.ingress("web") == "127.1.0.101" })
	service, err := r.core.CoreV1().Services("ns").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer || service.Spec.Ports[0].TargetPort.IntValue() != 31080 || len(service.OwnerReferences) != 1 {
		t.Fatalf("%+v, %v", service, err)
	}
	endpoints := func() string {
		e, err := r.core.CoreV1().Endpoints("ns").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return strings.Join(targets(*e), ",")
	}
	r.until("endpoints", func() bool { return endpoints() == "worker (10.0.0.5)" })
	r.vc.set("worker", func(vm *VM) { vm.Addresses = nil })
	r.until("no endpoint without an address", func() bool { return endpoints() == "" })

	r.leave(machineServices(), "web")
	r.until("no finalizer", func() bool { return len(r.object(machineServices(), "web").GetFinalizers()) == 0 })
	for _, a := range []error{
		errorOf(r.core.CoreV1().Services("ns").Get(t.Context(), "web", metav1.GetOptions{})),
		errorOf(r.core.CoreV1().Endpoints("ns").Get(t.Context(), "web", metav1.GetOptions{})),
	} {
		if !apierrors.IsNotFound(a) {
			t.Errorf("it is left: %v", a)
		}
	}
	r.balance("next")
	r.until("the address is free again", func() bool { return r.ingress("next") == "127.1.0.101" })
}

func errorOf[T any](_ T, err error) error { return err }

// TestPending: without a free address, and while VM Operator is stopped, a VirtualMachineService waits, says why, and gets its address later.
func TestPending(t *testing.T) {
	r := newRunning(t)
	r.SetPoolEmpty(true)
	r.balance("web")
	r.until("the reason", func() bool {
		s := r.state("web")
		return s.Unstructured != nil && s.Pending == errPoolEmpty.Error() && len(s.Events) == 1 && s.Events[0].Reason == "LoadBalancerFailed" && s.Events[0].Message == errPoolEmpty.Error()
	})
	if got := r.ingress("web"); got != "" {
		t.Errorf("an empty pool gave %s", got)
	}
	r.SetPoolEmpty(false)
	r.until("its address", func() bool { return r.ingress("web") == "127.1.0.101" && r.state("web").Pending == "" })

	r.SetOperator(false)
	r.balance("later")
	r.until("it is known", func() bool { return r.state("later").Unstructured != nil })
	if s := r.state("later"); s.Pending != errStopped.Error() || r.ingress("later") != "" {
		t.Errorf("with VM Operator stopped: %q, %s", s.Pending, r.ingress("later"))
	}
	r.SetOperator(true)
	r.until("its address", func() bool { return r.ingress("later") == "127.1.0.102" })
}

// TestRestart: a Supervisor that starts again knows the addresses that are in use.
func TestRestart(t *testing.T) {
	r := newRunning(t)
	r.balance("web")
	r.until("an address", func() bool { return r.ingress("web") == "127.1.0.101" })
	r.until("the controllers to know it", func() bool {
		o, err := r.get(machineServices(), "ns/web")
		ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
		return err == nil && len(ingress) == 1
	})
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := &Supervisor{opts: r.opts, listers: r.listers, pool: newPool(r.opts.Addresses)}
	if err := again.rememberServices("ns"); err != nil {
		t.Fatal(err)
	}
	if err := again.pool.why("ns/first", "127.1.0.101"); err == nil || !strings.Contains(err.Error(), "in use by ns/web") {
		t.Errorf("before any is handled: %v", err)
	}
	r.balance("first")
	r.start()
	r.until("a free address", func() bool { return r.ingress("first") == "127.1.0.102" })
	if got := r.ingress("web"); got != "127.1.0.101" {
		t.Errorf("it moved to %s", got)
	}
}

// TestTokens: credentials are in the guest cluster's Secret and folder, rotate on demand, and stay old while tokens expire.
func TestTokens(t *testing.T) {
	r := newRunning(t)
	guest, dir := corefake.NewClientset(), t.TempDir()
	if err := r.Credentials(t.Context(), Place{Guest: r.opts.Setup.Guests[0], Dir: dir, CA: []byte("authority"), Port: 6443, Cluster: guest}); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		file, err := os.ReadFile(filepath.Join(dir, CredentialsDir, "token"))
		if err != nil || string(file) != want {
			t.Errorf("the folder has token %q, %v; want %s", file, err, want)
		}
		secret, err := guest.CoreV1().Secrets(GuestNamespace).Get(t.Context(), CredentialsSecret, metav1.GetOptions{})
		if err != nil || string(secret.Data["token"]) != want || string(secret.Data["namespace"]) != "ns" || string(secret.Data["ca.crt"]) != "authority" {
			t.Errorf("the Secret has %q, %v", secret.Data, err)
		}
	}
	check("token-1")
	if left := time.Until(r.Supervisor.tokens.places[0].renewAt); left < 47*time.Minute || left > 49*time.Minute {
		t.Errorf("a token of an hour is renewed after %s, want 48m", left)
	}
	if err := r.RotateTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("token-2")
	r.core.ClearActions()
	if err := r.ExpireTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	deleted := slices.ContainsFunc(r.core.Actions(), func(a clienttesting.Action) bool { return a.Matches("delete", "serviceaccounts") })
	created := slices.ContainsFunc(r.core.Actions(), func(a clienttesting.Action) bool { return a.Matches("create", "serviceaccounts") })
	if !deleted || !created {
		t.Errorf("the account is not another one: deleted %t, created %t", deleted, created)
	}
	check("token-2")
	if err := r.RenewTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("token-3")
}
