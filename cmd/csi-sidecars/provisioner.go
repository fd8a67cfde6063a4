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

// provision is csi-provisioner: a claim becomes CreateVolume, a released volume DeleteVolume.
type provision struct {
	prefix                     string
	uuidLength                 int
	workers                    uint
	timeout, sweep             time.Duration
	strict, immediate          bool
	extraMetadata              bool
	fsType                     string
	publishReadOnly, keepsMode bool
}

func (p *provision) flags(fs *flag.FlagSet) {
	fs.StringVar(&p.prefix, "volume-name-prefix", "pvc", "What volumes' names begin with.")
	fs.IntVar(&p.uuidLength, "volume-name-uuid-length", -1, "How many characters of the claim's UID are in a volume's name; -1 is all.")
	fs.UintVar(&p.workers, "worker-threads", 100, "How many volumes are created or deleted at once.")
	fs.DurationVar(&p.timeout, "timeout", 10*time.Second, "How long creating or deleting a volume may take.")
	fs.BoolVar(&p.strict, "strict-topology", false, "Where the pod has a node already, ask for a volume for that node alone.")
	fs.BoolVar(&p.immediate, "immediate-topology", true, "Where no pod waits, ask for a volume that any node with the driver can use.")
	fs.BoolVar(&p.extraMetadata, "extra-create-metadata", false, "Tell the driver the names of claim and volume.")
	fs.StringVar(&p.fsType, "default-fstype", "", "File system of volumes whose StorageClass names none.")
	fs.BoolVar(&p.publishReadOnly, "controller-publish-readonly", false, "Volumes of read-only claims are read-only for the driver too.")
	fs.BoolVar(&p.keepsMode, "prevent-volume-mode-conversion", true, "A volume from a snapshot has the mode of the snapshot's volume, unless the snapshot allows another.")
	fs.DurationVar(&p.sweep, "snapshot-orphan-sweep-interval", 5*time.Minute, "How often finalizers of snapshots that nobody restores any longer are looked for; 0 is never.")
}

func (p *provision) build(ctx context.Context, w *world) (*built, error) {
	if p.workers == 0 {
		return nil, errors.New("--worker-threads has to be positive")
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
	all := controller.NewProvisionController(ctx, w.client, w.driver.name, p.provisioner(w, factory, snapshotClient), options...)
	sweeper := p.sweeper(w, claims.Lister(), snapshotClient)
	registry := prometheus.NewRegistry()
	registry.MustRegister(counted.PersistentVolumeClaimProvisionTotal, counted.PersistentVolumeClaimProvisionFailedTotal,
		counted.PersistentVolumeClaimProvisionDurationSeconds, counted.PersistentVolumeDeleteTotal,
		counted.PersistentVolumeDeleteFailedTotal, counted.PersistentVolumeDeleteDurationSeconds)
	return &built{
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
			all.ControllerWaitGroup(wg)
			all.Run(ctx)
			<-ctx.Done()
		},
	}, nil
}

// gates turns VolumeAttributesClass off where the API server does not have it, and refuses what is not built in.
func (p *provision) gates(w *world) error {
	if utilfeature.DefaultFeatureGate.Enabled(features.CrossNamespaceVolumeDataSource) {
		return fmt.Errorf("feature gate %s is not supported", features.CrossNamespaceVolumeDataSource)
	}
	gate := utilfeature.DefaultMutableFeatureGate
	if gate.ExplicitlySet(features.VolumeAttributesClass) {
		return nil
	}
	if served, err := features.IsVolumeAttributesClassV1Enabled(w.client.Discovery()); err != nil || served {
		return nil // upstream leaves it on when the API server does not say
	}
	return gate.OverrideDefault(features.VolumeAttributesClass, false)
}

// provisioner is what creates and deletes volumes, with the view of the cluster that topology takes.
func (p *provision) provisioner(w *world, factory informers.SharedInformerFactory, client snapshots.Interface) controller.Provisioner {
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

// sweeper takes finalizers off snapshots; nil where there are none.
func (p *provision) sweeper(w *world, claims corelisters.PersistentVolumeClaimLister, client snapshots.Interface) *provisioning.SnapshotFinalizerController {
	if p.sweep <= 0 {
		return nil
	}
	if served, err := features.IsVolumeSnapshotV1Available(w.client.Discovery()); err != nil || !served {
		return nil
	}
	return provisioning.NewSnapshotFinalizerController(client, claims, w.driver.controller, p.sweep)
}
