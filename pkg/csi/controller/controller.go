package controller

import (
	"log/slog"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Config is what a Controller works with.
type Config struct {
	Store volume.Store // required
	Nodes volume.Nodes // required
	// Migrated makes volumes of in-tree StorageClasses; without, they are refused.
	Migrated Migrated
	// Logger receives choices that no answer tells, such as a datastore that was passed over; none when nil.
	Logger *slog.Logger
}

// Controller is the Controller service. Make one with [New]. All methods may be called concurrently.
type Controller struct {
	csi.UnimplementedControllerServer

	store    volume.Store
	nodes    volume.Nodes
	migrated Migrated
	log      *slog.Logger
	flight   flight
	taken    taken
}

var _ csi.ControllerServer = (*Controller)(nil)

// New makes a Controller. It needs no end.
func New(cfg Config) *Controller {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Controller{store: cfg.Store, nodes: cfg.Nodes, migrated: cfg.Migrated, log: cfg.Logger}
}
