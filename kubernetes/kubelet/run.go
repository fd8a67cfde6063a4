package kubelet

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubemark"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/mount-utils"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	podruntime "github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/runtime"
)

// trimAfter is the time by which a kubelet has registered, and does not need its start-up memory any more.
const trimAfter = 5 * time.Second

// Run runs a kubelet until ctx ends. Like a VM that loses power it does not deregister: the cluster must notice its silence.
func Run(ctx context.Context, cfg contract.Node) error {
	booted := trim.Booting(100)
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(cfg.FeatureGates); err != nil {
		return fmt.Errorf("kubelet %s: %w", cfg.Name, err)
	}
	flags, config, err := settings(cfg)
	if err != nil {
		return err
	}
	rc, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig)
	if err != nil {
		return err
	}
	rc.UserAgent = "kubelet/" + cfg.Name
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	// As in cmd/kubelet/app/server.go. Client-go's default of five a second would start one pod with a volume per second.
	rc.QPS, rc.Burst = float32(config.KubeAPIQPS), int(config.KubeAPIBurst)
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return err
	}
	// Heartbeats have a separate client, so that nothing else delays them, as in cmd/kubelet/app/server.go.
	hb := *rc
	hb.Timeout = min(config.NodeStatusUpdateFrequency.Duration, leaseDuration(config))
	hb.QPS = -1
	heartbeat, err := kubernetes.NewForConfig(&hb)
	if err != nil {
		return err
	}
	var csi *services
	if cfg.CSI != nil {
		if err := watchable(cfg.RootDir); err != nil {
			return fmt.Errorf("kubelet %s: %w", cfg.Name, err)
		}
		// Its sockets must exist when the kubelet first scans for plugins: it would try the stale ones of an earlier process in
		// vain, and then back off.
		if csi, err = newServices(ctx, cfg, client, slog.New(logr.ToSlogHandler(klog.Background()))); err != nil {
			return fmt.Errorf("csi node of %s: %w", cfg.Name, err)
		}
	}
	api, err := listenAPI(cfg.Server)
	if err != nil {
		return fmt.Errorf("kubelet %s: server: %w", cfg.Name, err)
	}
	defer api.listener.Close()
	containers := podruntime.New(ctx, podruntime.Options{
		Node: cfg.Name, RootDir: cfg.RootDir, DiskBytes: diskBytes, DiskInodes: diskInodes,
		PodCIDR: func(ctx context.Context) (string, error) { return podCIDR(ctx, client, cfg.Name) },
	})
	defer containers.Stop()
	vm := newMachine(cfg)
	vm.use.list = containers.ListContainerStats
	hollow := kubemark.NewHollowKubelet(flags, config, client, heartbeat, newCAdvisor(vm), containers, containers, newContainers())
	if err := furnish(ctx, hollow.KubeletDeps, cfg, rc); err != nil {
		return fmt.Errorf("kubelet %s: %w", cfg.Name, err)
	}
	var running *kubelet.Kubelet
	hollow.KubeletDeps.Options = append(hollow.KubeletDeps.Options, func(k *kubelet.Kubelet) { running = k })
	server := &options.KubeletServer{KubeletFlags: *hollow.KubeletFlags, KubeletConfiguration: *hollow.KubeletConfiguration}
	if err := kubeletapp.RunKubelet(ctx, server, hollow.KubeletDeps); err != nil {
		return fmt.Errorf("kubelet %s: %w", cfg.Name, err)
	}
	var all errgroup.Group
	ctx, end := context.WithCancel(ctx)
	defer end()
	all.Go(func() error {
		defer end()
		if err := api.serve(ctx, running, cfg.Name, client, config); err != nil {
			return fmt.Errorf("kubelet %s: server: %w", cfg.Name, err)
		}
		return nil
	})
	if csi != nil {
		all.Go(func() error { defer end(); return csi.Run(ctx) })
		if csi.found != nil {
			all.Go(func() error {
				err := awaitFound(ctx, csi.found, foundWithin, cfg.RootDir)
				if err != nil {
					end()
					err = fmt.Errorf("kubelet %s: %w", cfg.Name, err)
				}
				return err
			})
		}
	}
	select {
	case <-time.After(trimAfter):
		booted()
		<-ctx.Done()
	case <-ctx.Done():
	}
	return all.Wait()
}

// furnish replaces kubemark's fakes by what makes pods behave.
func furnish(ctx context.Context, deps *kubelet.Dependencies, cfg contract.Node, rc *rest.Config) error {
	root := vmRoot(cfg.RootDir)
	var err error
	if deps.KubeClient, err = newClient(deps.KubeClient, rc); err != nil {
		return err
	}
	deps.ProbeManager = nil // the kubelet's own
	deps.OSInterface = vmOS{root: root}
	deps.HostUtil = vmHost{hostutil.NewFakeHostUtil(nil), root}
	deps.Subpather = subPaths{root}
	keepOwner(deps.VolumePlugins)
	if cfg.CSI != nil {
		deps.Mounter = mounter{&mount.FakeMounter{}, cfg.CSI.ByIDDir}
	}
	return recordEvents(ctx, deps, rc, cfg.Name)
}

// podCIDRWithin is the time for the controller manager to give a new Node its podCIDR.
const podCIDRWithin = 5 * time.Second

// podCIDR returns the Node's, or "" if it gets none: the user may have turned that off.
func podCIDR(ctx context.Context, c kubernetes.Interface, node string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, podCIDRWithin)
	defer cancel()
	tick := time.NewTicker(ownPoll)
	defer tick.Stop()
	for {
		n, err := c.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err == nil && n.Spec.PodCIDR != "" {
			return n.Spec.PodCIDR, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err != nil {
				return "", err
			}
			return "", nil
		}
	}
}

// settings returns the configuration of a kubelet on a vSphere VM with an external cloud provider, at the sandbox's pace,
// without anything that changes the host.
func settings(cfg contract.Node) (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error) {
	f := options.NewKubeletFlags()
	f.RootDirectory = cfg.RootDir
	f.CertDirectory = filepath.Join(cfg.RootDir, "pki")
	f.HostnameOverride = cfg.Name
	f.CloudProvider = "external" // adds the uninitialized taint

	c, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, nil, err
	}
	// The cloud controller manager sets the providerID.
	c.ProviderID = ""
	c.RegisterNode = true
	if cfg.ControlPlane {
		// A node may not set the label of that name itself (NodeRestriction); the sandbox does, as kubeadm would.
		c.RegisterWithTaints = append(c.RegisterWithTaints, corev1.Taint{
			Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule,
		})
	}
	c.EnableControllerAttachDetach = true
	c.FeatureGates = cfg.FeatureGates

	c.NodeLeaseDurationSeconds = int32(cfg.Speed.Of(pace.NodeLease).Seconds())
	c.NodeStatusUpdateFrequency.Duration = cfg.Speed.Of(pace.NodeStatusUpdate)
	c.NodeStatusReportFrequency.Duration = cfg.Speed.Of(pace.NodeStatusReport)
	c.SyncFrequency.Duration = cfg.Speed.Of(pace.KubeletSync)

	serverSettings(c, cfg.Server)
	c.MakeIPTablesUtilChains = false // as root it would change the host's packet filter
	c.StaticPodPath = ""
	c.PodLogsDir = filepath.Join(cfg.RootDir, "pod-logs")
	c.CgroupsPerQOS = false
	c.CgroupRoot = ""
	c.EnforceNodeAllocatable = nil
	c.FailCgroupV1 = false
	c.FailSwapOn = false
	c.ResolverConfig = ""
	// kubeadm's: nothing answers there, for pods have no network, but without it the kubelet warns of each pod.
	c.ClusterDNS, c.ClusterDomain = []string{clusterDNS}, "cluster.local"
	c.RegistryPullQPS = 0 // a pull takes nothing from anybody
	c.MaxOpenFiles = 4096
	c.EvictionHard = nil
	c.VolumePluginDir = filepath.Join(cfg.RootDir, "volume-plugins")
	for _, dir := range []string{c.PodLogsDir, c.VolumePluginDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	return f, c, nil
}

// clusterDNS is the tenth address of the embedded cluster's service range.
const clusterDNS = "10.96.0.10"

func leaseDuration(c *kubeletconfig.KubeletConfiguration) time.Duration {
	return time.Duration(c.NodeLeaseDurationSeconds) * time.Second
}
