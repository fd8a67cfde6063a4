package privileges

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/privilege"
)

// builder gives every controller the same clients.
type builder struct{ client kubernetes.Interface }

func (b builder) Config(string) (*rest.Config, error)         { return &rest.Config{}, nil }
func (b builder) ConfigOrDie(string) *rest.Config             { return &rest.Config{} }
func (b builder) Client(string) (kubernetes.Interface, error) { return b.client, nil }
func (b builder) ClientOrDie(string) kubernetes.Interface     { return b.client }

var _ cloudprovider.ControllerClientBuilder = builder{}

// provider starts the cloud provider under the account ccm; the test ends it.
func (w *world) provider() *provider.Provider {
	w.t.Helper()
	cfg, err := config.LoadFile(w.conf(ccmUser, password))
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := provider.New(cfg, provider.Options{
		CallTimeout: 5 * time.Second, StartWait: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	stop := make(chan struct{})
	w.t.Cleanup(func() {
		close(stop)
		p.Wait()
	})
	p.Initialize(builder{fake.NewClientset()}, stop)
	return p
}

// serve does everything that the provider does.
func serve(ctx context.Context, p *provider.Provider) map[privilege.Operation]error {
	failed := map[privilege.Operation]error{}
	m, err := p.InstanceMetadata(ctx, node("worker", uuid))
	failed[privilege.InitializeNode], failed[privilege.ZoneOfNode] = err, err
	if err == nil && (m.Region != "us" || m.Zone != "us-west" || len(m.NodeAddresses) == 0) {
		failed[privilege.ZoneOfNode] = fmt.Errorf("%+v", m)
	}
	off, err := p.InstanceShutdown(ctx, node("off", offUUID))
	if err == nil && !off {
		err = errors.New("it is told to be on")
	}
	failed[privilege.ShutdownNode] = err
	return failed
}

// node is one that waits for a cloud provider.
func node(name, uuid string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{SystemUUID: uuid}},
	}
}
