package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	csinode "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/podevents"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
)

// noBlock is why a hollow node takes no raw block volumes. The kubelet itself maps one to a pod, with mount(2) and
// losetup: an unprivileged user cannot, and root would do it on the host of the sandbox.
const noBlock = "a hollow kubelet cannot map devices to pods"

// newCSI creates the sockets of the VM's CSI node service, where the kubelet looks for them.
func newCSI(ctx context.Context, cfg contract.Node, kubelet kubernetes.Interface, nodeID string) (*csinode.Plugin, error) {
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
	// The kubelet's own Event has what a call returned, after its time limit; these are written while the service waits.
	events := podevents.New(podevents.Config{Client: kubelet, Node: cfg.Name, Driver: driver, Logger: log})
	go func() { _ = events.Run(ctx) }() // it returns nil when ctx ends
	return csinode.Listen(ctx, csinode.Options{
		NodeID: nodeID, MaxVolumes: cfg.CSI.MaxVolumes, Topology: topology, Failed: events.Failed, Backend: backend, Logger: log,
	}, csinode.Sockets{
		CSI: filepath.Join(dir, "csi.sock"), Registration: filepath.Join(cfg.RootDir, "plugins_registry", driver+"-reg.sock"), Driver: driver,
	})
}

// topologyOf requests the node's topology as upstream's driver does, with an object that the controller fills in.
func topologyOf(cfg contract.Node, kubelet kubernetes.Interface) (func(context.Context) (map[string]string, error), error) {
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

// ownPoll is the poll interval: a kubelet registers within a second.
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

// mounter is kubemark's fake mounter, which mounts nothing, but reports what the hollow CSI node service has published:
// links through the VM's by-id folder. Otherwise a kubelet would take such a volume for an empty directory and try to
// remove it.
type mounter struct {
	*mount.FakeMounter
	byID string
}

// IsLikelyNotMountPoint implements mount.Interface. A link is a mount point even if its disk is gone.
func (m mounter) IsLikelyNotMountPoint(path string) (bool, error) {
	if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, filepath.Clean(m.byID)+string(filepath.Separator)) {
		return false, nil
	}
	return m.FakeMounter.IsLikelyNotMountPoint(path)
}

// IsMountPoint implements mount.Interface.
func (m mounter) IsMountPoint(path string) (bool, error) {
	not, err := m.IsLikelyNotMountPoint(path)
	return err == nil && !not, err
}

// foundWithin is the time for a kubelet to find the CSI driver's registration socket, which exists before it starts. It
// scans once a second; a host with a load of twenty times its CPUs takes five seconds.
const foundWithin = 40 * time.Second

// watchable returns why a kubelet cannot watch its plugins: on Linux, mostly because the user's inotify instances are
// used up. A kubelet without a watcher logs one line and never registers a CSI driver (pkg/kubelet/pluginmanager's Run),
// while its Node is Ready. So it must exit: then it is restarted, and the events have its last log lines.
func watchable(dir string) error {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = errors.Join(w.Add(dir), w.Close())
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("cannot watch its plugins: %w: all programs of a user share fs.inotify.max_user_instances and max_user_watches; "+
			"stop some, or try `sysctl fs.inotify.max_user_instances=1024`", err)
	}
	if err != nil {
		return fmt.Errorf("cannot watch its plugins: %w", err)
	}
	return nil
}

// awaitFound returns nil when found is closed or ctx ends, and an error when neither happens within limit.
func awaitFound(ctx context.Context, found <-chan struct{}, limit time.Duration, dir string) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-found:
		return nil
	case <-ctx.Done():
		return nil
	case <-timer.C:
	}
	if err := watchable(dir); err != nil {
		return err
	}
	return fmt.Errorf("has not scanned its plugins within %s", limit)
}
