package kubelet

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	csinode "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// noBlock is why a hollow node takes no raw block volumes. A kubelet maps one to a pod by itself, with mount(2) and losetup:
// as nobody it cannot, and as root it would on the machine that the sandbox runs on.
const noBlock = "a hollow kubelet cannot map devices to pods"

// newCSI makes the sockets of the VM's CSI node service, where kubelet looks for them.
func newCSI(ctx context.Context, cfg node.Config, kubelet kubernetes.Interface) (*csinode.Plugin, error) {
	driver := cfg.CSI.Driver
	if driver == "" {
		driver = names.Driver
	}
	log := slog.New(logr.ToSlogHandler(klog.Background()))
	dir := filepath.Join(cfg.RootDir, "plugins", driver)
	backend, err := hollow.New(hollow.Options{ByIDDir: cfg.CSI.ByIDDir, StateDir: dir, Boot: cfg.CSI.Boot, NoBlock: noBlock, Logger: log})
	if err != nil {
		return nil, err
	}
	topology, err := topologyOf(cfg, kubelet)
	if err != nil {
		return nil, err
	}
	return csinode.Listen(ctx, csinode.Options{
		NodeID: cfg.SystemUUID, MaxVolumes: cfg.CSI.MaxVolumes, Topology: topology, Backend: backend, Logger: log,
	}, csinode.Sockets{
		CSI: filepath.Join(dir, "csi.sock"), Registration: filepath.Join(cfg.RootDir, "plugins_registry", driver+"-reg.sock"), Driver: driver,
	})
}

// topologyOf asks for the node's topology as upstream's driver does, by an object that the controller answers.
func topologyOf(cfg node.Config, kubelet kubernetes.Interface) (func(context.Context) (map[string]string, error), error) {
	if cfg.CSI.Kubeconfig == "" {
		return nil, nil
	}
	rc, err := clientcmd.BuildConfigFromFlags("", cfg.CSI.Kubeconfig)
	if err != nil {
		return nil, err
	}
	rc.UserAgent = "vsphere-csi-node/" + cfg.Name
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (map[string]string, error) {
		owner, err := own(ctx, kubelet, cfg.Name)
		if err != nil {
			return nil, err
		}
		return nodetopology.Request(ctx, client, cfg.Name, cfg.SystemUUID, owner)
	}, nil
}

// ownPoll is how often it is asked for: a kubelet registers within a second.
const ownPoll = 100 * time.Millisecond

// own returns the kubelet's own Node, once it has registered.
func own(ctx context.Context, kubelet kubernetes.Interface, name string) (*corev1.Node, error) {
	tick := time.NewTicker(ownPoll)
	defer tick.Stop()
	for {
		n, err := kubelet.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil || !apierrors.IsNotFound(err) {
			return n, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}
