// Command manager runs the controllers of Cluster API and of its provider for vSphere, unmodified, in one process and without
// their webhooks: those need a certificate in the cluster and listen on every address of the machine.
//
//	KUBECONFIG=FILE manager
//
// The cluster of the kubeconfig has the custom resource definitions of both projects, without their conversions: those are webhooks,
// too. Objects must have what the webhooks would fill in.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	capv "sigs.k8s.io/cluster-api-provider-vsphere/controllers"
	"sigs.k8s.io/cluster-api-provider-vsphere/feature"
	capvcontext "sigs.k8s.io/cluster-api-provider-vsphere/pkg/context"
	"sigs.k8s.io/cluster-api-provider-vsphere/pkg/manager"
	"sigs.k8s.io/cluster-api-provider-vsphere/pkg/session"
	"sigs.k8s.io/cluster-api/api/core/v1beta2/index"
	capi "sigs.k8s.io/cluster-api/controllers"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmgr "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	modules := flag.Bool("modules", true, "keep machines apart with cluster modules of the vCenters (NodeAntiAffinity)")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *modules); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, modules bool) error {
	if err := feature.MutableGates.Set(fmt.Sprintf("NodeAntiAffinity=%t", modules)); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	mgr, err := manager.New(ctx, manager.Options{
		KubeConfig: config, Username: "unused", Password: "unused", // each VSphereCluster has its Secret
		AddToManager: add,
		Options: ctrlmgr.Options{
			Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", LeaderElection: false,
			Client: client.Options{Cache: &client.CacheOptions{
				DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}, Unstructured: true,
			}},
		},
	})
	if err != nil {
		return err
	}
	defer session.Clear()
	return mgr.Start(ctx)
}

// The grace periods of Cluster API's flags --remote-connection-grace-period and --remote-conditions-grace-period.
const (
	connection = 50 * time.Second
	conditions = 5 * time.Minute
)

// add adds the controllers of both projects.
func add(ctx context.Context, c *capvcontext.ControllerManagerContext, mgr ctrlmgr.Manager) error {
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return err
	}
	cache, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: mgr.GetClient(),
		Cache:        clustercache.CacheOptions{Indexes: []clustercache.CacheOptionsIndex{clustercache.NodeProviderIDIndex}},
		Client: clustercache.ClientOptions{UserAgent: "cluster-api", Cache: clustercache.ClientCacheOptions{
			DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Pod{}},
		}},
	}, controller.Options{})
	if err != nil {
		return err
	}
	cl, reader, options := mgr.GetClient(), mgr.GetAPIReader(), controller.Options{MaxConcurrentReconciles: 10}
	for _, setup := range []func() error{
		func() error {
			return (&capi.ClusterReconciler{
				Client: cl, APIReader: reader, ClusterCache: cache, RemoteConnectionGracePeriod: connection,
			}).SetupWithManager(ctx, mgr, options)
		},
		func() error {
			return (&capi.MachineReconciler{
				Client: cl, APIReader: reader, ClusterCache: cache, RemoteConditionsGracePeriod: conditions,
			}).SetupWithManager(ctx, mgr, options)
		},
		func() error {
			return (&capi.MachineSetReconciler{Client: cl, APIReader: reader, ClusterCache: cache}).SetupWithManager(ctx, mgr, options)
		},
		func() error {
			return (&capi.MachineDeploymentReconciler{Client: cl, APIReader: reader}).SetupWithManager(ctx, mgr, options)
		},
		func() error { return capv.AddClusterControllerToManager(ctx, c, mgr, false, options) },
		func() error { return capv.AddMachineControllerToManager(ctx, c, mgr, false, options) },
		func() error { return capv.AddVMControllerToManager(ctx, c, mgr, cache, options) },
		func() error { return capv.AddVsphereClusterIdentityControllerToManager(ctx, c, mgr, options) },
		func() error { return capv.AddVSphereDeploymentZoneControllerToManager(ctx, c, mgr, options) },
	} {
		if err := setup(); err != nil {
			return err
		}
	}
	return nil
}
