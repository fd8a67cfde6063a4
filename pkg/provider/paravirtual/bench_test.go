package paravirtual

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	genericapp "k8s.io/controller-manager/app"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
)

const manyMachines = 500

// BenchmarkInitialize500 is the time from the start of the provider until the stock controller has initialized 500 Nodes, over an API
// server in memory: what the provider itself costs.
func BenchmarkInitialize500(b *testing.B) {
	s := newSupervisor(b)
	var nodes []*corev1.Node
	for i := range manyMachines {
		s.add(machine(i))
		nodes = append(nodes, newNode(i, uninitialized))
	}
	for b.Loop() {
		began := time.Now()
		lists := s.count("list virtualmachines")
		initialize(b, s, nodes)
		b.ReportMetric(time.Since(began).Seconds(), "s/500nodes")
		b.ReportMetric(float64(s.count("list virtualmachines")-lists), "lists")
	}
}

func initialize(b *testing.B, s *fakeSupervisor, nodes []*corev1.Node) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	client := fake.NewClientset()
	for _, n := range nodes {
		if err := client.Tracker().Add(n.DeepCopy()); err != nil {
			b.Fatal(err)
		}
	}
	o := s.options(b)
	nudges := &controllers.Resyncer{}
	o.Resyncer = nudges
	p, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	c := &ccmconfig.Config{ClientBuilder: builder{client}, SharedInformers: shared}
	c.ComponentConfig.NodeController.ConcurrentNodeSyncs = 1 // upstream's default
	c.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates = 1
	p.SetInformers(shared)
	p.Initialize(c.ClientBuilder, ctx.Done())
	start := controllers.Initializers(c.Complete(), p, nudges, controllers.Options{})[names.CloudNodeController]
	generic := genericapp.ControllerContext{ControllerManagerMetrics: controllersmetrics.NewControllerManagerMetrics("bench")}
	if _, started, err := start(ctx, generic); err != nil || !started {
		b.Fatal(started, err)
	}
	shared.StartWithContext(ctx)
	eventually(b, "all initialized", func() error {
		list, err := shared.Core().V1().Nodes().Lister().List(labels.Everything())
		if err != nil {
			return err
		}
		n := 0
		for _, node := range list {
			if initialized(node) && node.Spec.ProviderID != "" {
				n++
			}
		}
		if n < len(nodes) {
			return fmt.Errorf("%d of %d", n, len(nodes))
		}
		return nil
	})
	cancel()
	nudges.Wait()
	p.Wait()
	shared.Shutdown()
}

// builder gives every controller the same client.
type builder struct{ client clientset.Interface }

func (b builder) Client(string) (clientset.Interface, error) { return b.client, nil }
func (b builder) ClientOrDie(string) clientset.Interface     { return b.client }
func (b builder) Config(string) (*restclient.Config, error)  { return &restclient.Config{}, nil }
func (b builder) ConfigOrDie(string) *restclient.Config      { return &restclient.Config{} }
