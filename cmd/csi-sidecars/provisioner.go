package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/external-provisioner/v6/pkg/capacity"
	provisioning "github.com/kubernetes-csi/external-provisioner/v6/pkg/controller"
	"github.com/kubernetes-csi/external-provisioner/v6/pkg/features"
	snapshots "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned"
	"github.com/prometheus/client_golang/prometheus"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/util/workqueue"
	csitrans "k8s.io/csi-translation-lib"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller/metrics"
)

// provision is csi-provisioner: it calls CreateVolume for a claim, and DeleteVolume for a released volume.
type provision struct {
	prefix                     string
	uuidLength                 int
	workers                    uint
	timeout, sweep             time.Duration
	strict, immediate          bool
	extraMetadata              bool
	fsType                     string
	publishReadOnly, keepsMode bool
	capacity                   capacityOptions
}

func (p *provision) flags(fs *flag.FlagSet) {
	fs.StringVar(&p.prefix, "volume-name-prefix", "pvc", "Prefix of volumes' names.")
	fs.IntVar(&p.uuidLength, "volume-name-uuid-length", -1, "Number of characters of the claim's UID in a volume's name; -1 is all.")
	fs.UintVar(&p.workers, "worker-threads", 100, "Maximum number of concurrent create and delete operations.")
	fs.DurationVar(&p.timeout, "timeout", 10*time.Second, "Timeout for creating or deleting a volume.")
	fs.BoolVar(&p.strict, "strict-topology", false, "If the pod has a node, request a volume for that node only.")
	fs.BoolVar(&p.immediate, "immediate-topology", true, "If no pod waits, request a volume that any node with the driver can use.")
	fs.BoolVar(&p.extraMetadata, "extra-create-metadata", false, "Send the names of claim and volume to the driver.")
	fs.StringVar(&p.fsType, "default-fstype", "", "Default file system of volumes.")
	fs.BoolVar(&p.publishReadOnly, "controller-publish-readonly", false, "Volumes of read-only claims are read-only for the driver too.")
	fs.BoolVar(&p.keepsMode, "prevent-volume-mode-conversion", true, "A volume from a snapshot has the mode of the snapshot's volume, unless the snapshot allows another.")
	p.capacity.flags(fs)
	fs.DurationVar(&p.sweep, "snapshot-orphan-sweep-interval", 5*time.Minute, "How often finalizers of snapshots that are no longer being restored are removed; 0 is never.")
}

func (p *provision) build(ctx context.Context, w *dependencies) (*sidecarControllers, error) {
	if p.workers == 0 {
		return nil, errors.New("--worker-threads must be positive")
	}
	if err := p.gates(w); err != nil {
		return nil, err
	}
	snapshotClient, err := snapshots.NewForConfig(w.rest)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(w.client, provisioning.ResyncPeriodOfCsiNodeInformer)
	claims := factory.Core().V1().PersistentVolumeClaims()
	counted := metrics.New("controller")
	options := []func(*controller.ProvisionController) error{
		controller.LeaderElection(false), // this process elects, not its library
		controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0),
		controller.RateLimiter(w.retries()), controller.RetryIntervalMax(w.retryMax),
		controller.Threadiness(int(p.workers)),
		controller.CreateProvisionedPVLimiter(workqueue.DefaultTypedControllerRateLimiter[string]()),
		controller.ClaimsInformer(claims.Informer()),
		controller.AddFinalizer(true),
		controller.MetricsInstance(counted),
	}
	if w.driver.inTree != "" {
		options = append(options, controller.AdditionalProvisionerNames([]string{w.driver.inTree}))
	}
	volumes := p.provisioner(w, factory, snapshotClient)
	published, err := p.capacity.build(w, factory, p.timeout)
	if err != nil {
		return nil, err
	}
	if published != nil {
		volumes = capacity.NewProvisionWrapper(volumes, published.objects) // it reports changes of the capacity
	}
	all := controller.NewProvisionController(ctx, w.client, w.driver.name, volumes, options...)
	sweeper := p.sweeper(w, claims.Lister(), snapshotClient)
	registry := prometheus.NewRegistry()
	registry.MustRegister(counted.PersistentVolumeClaimProvisionTotal, counted.PersistentVolumeClaimProvisionFailedTotal,
		counted.PersistentVolumeClaimProvisionDurationSeconds, counted.PersistentVolumeDeleteTotal,
		counted.PersistentVolumeDeleteFailedTotal, counted.PersistentVolumeDeleteDurationSeconds)
	return &sidecarControllers{
		lease:   strings.ReplaceAll(w.driver.name, "/", "-"),
		metrics: []prometheus.Gatherer{registry},
		run: func(ctx context.Context, wg *sync.WaitGroup) {
			factory.Start(ctx.Done())
			factory.WaitForCacheSync(ctx.Done())
			if ctx.Err() != nil {
				return
			}
			if sweeper != nil {
				wg.Go(func() { sweeper.Run(ctx, wg) })
			}
			if published != nil {
				published.run(ctx, wg)
			}
			all.ControllerWaitGroup(wg)
			all.Run(ctx)
			<-ctx.Done()
		},
	}, nil
}

// gates disables VolumeAttributesClass if the API server does not have it, and refuses gates that are not built in.
func (p *provision) gates(w *dependencies) error {
	if utilfeature.DefaultFeatureGate.Enabled(features.CrossNamespaceVolumeDataSource) {
		return fmt.Errorf("feature gate %s is not supported", features.CrossNamespaceVolumeDataSource)
	}
	gate := utilfeature.DefaultMutableFeatureGate
	if gate.ExplicitlySet(features.VolumeAttributesClass) {
		return nil
	}
	if served, err := features.IsVolumeAttributesClassV1Enabled(w.client.Discovery()); err != nil || served {
		return nil // upstream keeps it enabled if the API server does not report it
	}
	return gate.OverrideDefault(features.VolumeAttributesClass, false)
}

// provisioner returns the controller that creates and deletes volumes, with the listers for topology.
func (p *provision) provisioner(w *dependencies, factory informers.SharedInformerFactory, client snapshots.Interface) controller.Provisioner {
	var attachments storagelisters.VolumeAttachmentLister
	if w.driver.controller[csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME] {
		attachments = factory.Storage().V1().VolumeAttachments().Lister() // a volume is deleted when it is attached nowhere
	}
	var csiNodes storagelisters.CSINodeLister
	var nodes corelisters.NodeLister
	var topologies *provisioning.InMemoryStore
	if provisioning.SupportsTopology(w.driver.plugin) {
		csiNodes, nodes = factory.Storage().V1().CSINodes().Lister(), factory.Core().V1().Nodes().Lister()
		topologies = provisioning.NewInMemoryStore()
	}
	identity := fmt.Sprintf("%d-%d-%s", time.Now().UnixMilli(), rand.IntN(10000), w.driver.name)
	return provisioning.NewCSIProvisioner(w.client, p.timeout, identity, p.prefix, p.uuidLength, w.driver.conn, client,
		w.driver.name, w.driver.plugin, w.driver.controller, w.driver.inTree, p.strict, p.immediate, csitrans.New(),
		factory.Storage().V1().StorageClasses().Lister(), csiNodes, nodes,
		factory.Core().V1().PersistentVolumeClaims().Lister(), attachments, nil, p.extraMetadata, p.fsType, nil,
		p.publishReadOnly, p.keepsMode, topologies)
}

// sweeper removes finalizers from snapshots; nil without snapshots.
func (p *provision) sweeper(w *dependencies, claims corelisters.PersistentVolumeClaimLister, client snapshots.Interface) *provisioning.SnapshotFinalizerController {
	if p.sweep <= 0 {
		return nil
	}
	if served, err := features.IsVolumeSnapshotV1Available(w.client.Discovery()); err != nil || !served {
		return nil
	}
	return provisioning.NewSnapshotFinalizerController(client, claims, w.driver.controller, p.sweep)
}
