package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"
	ccmconfig "k8s.io/cloud-provider/app/config"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	genericapp "k8s.io/controller-manager/app"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
)

// settings of a rig; zero periods are long, so that only nudges trigger anything.
type settings struct {
	statusPeriod, monitorPeriod time.Duration
	syncs, statusUpdates        int32
	only                        []string // the started controllers; all when empty
	opts                        controllers.Options
	nudges                      *controllers.Resyncer
}

// rig runs the controllers with a fake API server and a fake cloud.
type rig struct {
	t      testing.TB
	client *fake.Clientset
	cloud  *fakeCloud
	nudges *controllers.Resyncer
	stop   func()
}

// start runs the controllers until the test ends, and returns when they are idle. In a synctest bubble, the test fails if a
// goroutine outlives them.
func start(t testing.TB, s settings, nodes ...*corev1.Node) *rig {
	t.Helper()
	r := &rig{t: t, client: fake.NewClientset(), cloud: newFakeCloud(), nudges: s.nudges}
	if r.nudges == nil {
		r.nudges = &controllers.Resyncer{}
	}
	for _, node := range nodes {
		if err := r.client.Tracker().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	shared := informers.NewSharedInformerFactory(r.client, 0)
	c := &ccmconfig.Config{ClientBuilder: builder{r.client}, SharedInformers: shared}
	c.ComponentConfig.NodeStatusUpdateFrequency.Duration = or(s.statusPeriod, 1000*time.Hour)
	c.ComponentConfig.NodeLifecycleController.NodeMonitorPeriod.Duration = or(s.monitorPeriod, 1000*time.Hour)
	c.ComponentConfig.NodeController.ConcurrentNodeSyncs = max(1, s.syncs)
	c.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates = max(1, s.statusUpdates)
	ctx, cancel := context.WithCancel(t.Context())
	generic := genericapp.ControllerContext{ControllerManagerMetrics: controllersmetrics.NewControllerManagerMetrics("test")}
	for name, f := range controllers.Initializers(c.Complete(), r.cloud, r.nudges, s.opts) {
		if len(s.only) > 0 && !slices.Contains(s.only, name) {
			continue
		}
		if _, started, err := f(ctx, generic); err != nil || !started {
			t.Fatalf("%s: started %v, %v", name, started, err)
		}
	}
	shared.Start(ctx.Done())
	r.stop = func() {
		cancel()
		r.nudges.Wait()
		shared.Shutdown()
	}
	t.Cleanup(r.stop)
	return r
}

// in runs f in a synctest bubble.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// settle waits for d and for everything that happens then.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// node returns a node from the API server, or nil.
func (r *rig) node(name string) *corev1.Node {
	object, err := r.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", name)
	if err != nil {
		return nil
	}
	return object.(*corev1.Node)
}

// update changes a node at the API server, as another client.
func (r *rig) update(name string, change func(*corev1.Node)) {
	r.t.Helper()
	node := r.node(name).DeepCopy()
	change(node)
	if err := r.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), node, ""); err != nil {
		r.t.Fatal(err)
	}
}

// count returns the number of API requests with that verb and resource.
func (r *rig) count(verb, resource string) int {
	return len(slices.DeleteFunc(r.client.Actions(), func(a clienttesting.Action) bool { return !a.Matches(verb, resource) }))
}

// events returns the messages of events of a reason.
func (r *rig) events(reason string) []string {
	list, err := r.client.CoreV1().Events("").List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	var messages []string
	for _, e := range list.Items {
		if e.Reason == reason {
			messages = append(messages, e.InvolvedObject.Name+": "+e.Message)
		}
	}
	return messages
}

// builder gives every controller the same client.
type builder struct{ client clientset.Interface }

func (b builder) Client(string) (clientset.Interface, error) { return b.client, nil }
func (b builder) ClientOrDie(string) clientset.Interface     { return b.client }
func (b builder) Config(string) (*restclient.Config, error)  { return &restclient.Config{}, nil }
func (b builder) ConfigOrDie(string) *restclient.Config      { return &restclient.Config{} }

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// uuid returns the BIOS UUID of the i-th VM, and swapped the form that a guest may read.
func uuid(i int) string    { return fmt.Sprintf("42010203-0405-0607-0809-%012d", i) }
func swapped(i int) string { return fmt.Sprintf("03020142-0504-0706-0809-%012d", i) }

func name(i int) string { return fmt.Sprintf("node-%04d", i) }

func providerID(i int) string { return "vsphere://" + uuid(i) }

// newNode returns a node that the kubelet of the i-th VM has registered and that is not initialized.
func newNode(i int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name(i), UID: types.UID("uid-" + uuid(i))},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{SystemUUID: uuid(i)},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// boundNode returns a node that has been initialized.
func boundNode(i int) *corev1.Node {
	node := newNode(i)
	node.Spec = corev1.NodeSpec{ProviderID: providerID(i)}
	node.Status.Addresses = addresses(i)
	return node
}

func boundNodes(n int) []*corev1.Node {
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		nodes[i] = boundNode(i)
	}
	return nodes
}

// notReady sets a node's Ready condition to unknown, and returns it.
func notReady(node *corev1.Node) *corev1.Node {
	node.Status.Conditions[0].Status = corev1.ConditionUnknown
	return node
}

func addresses(i int) []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name(i)},
		{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", i/256, i%256)},
		{Type: corev1.NodeExternalIP, Address: fmt.Sprintf("10.0.%d.%d", i/256, i%256)},
	}
}

func hasTaint(node *corev1.Node, key string) bool {
	return node != nil && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func isShutdown(node *corev1.Node) bool { return hasTaint(node, cloudproviderapi.TaintNodeShutdown) }

func isInitialized(node *corev1.Node) bool {
	return node != nil && !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) && node.Spec.ProviderID != ""
}
