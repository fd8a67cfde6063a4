package migrated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// CNS is what is below a [Store]: pkg/csi/store.Store.
type CNS interface {
	volume.Store
	// Datastores returns those of a name in all vCenters. Errors: volume.ErrNoDatastore, volume.ErrUnavailable.
	Datastores(ctx context.Context, name string) ([]volume.Datastore, error)
	// Register makes a volume of a disk, or returns the one that it is. Error: volume.ErrNotFound, there is no such file.
	Register(ctx context.Context, name string, on volume.Datastore, file string) (volume.Volume, error)
	// Protect has the disk outlive the VM that it is on.
	Protect(ctx context.Context, id string) error
}

// Config is what a [Store] works with. CNS and Records are mandatory.
type Config struct {
	CNS     CNS
	Records *Records
	// DatastoreURLs returns the configured migration-datastore-url of each vCenter that has one; nil for none.
	DatastoreURLs func() []string
	// Logger receives what has been registered; none when nil.
	Logger *slog.Logger
}

// Store is [volume.Store] for ids that may be paths. Its methods may be called concurrently.
type Store struct {
	CNS
	cfg Config
}

var _ volume.Store = (*Store)(nil)

// New returns a store. It makes no call and needs no end.
func New(cfg Config) *Store {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.DatastoreURLs == nil {
		cfg.DatastoreURLs = func() []string { return nil }
	}
	return &Store{CNS: cfg.CNS, cfg: cfg}
}

// id is the CNS volume that an id stands for, which is made when there is none yet. Errors: volume.ErrNotFound, the disk is
// not there; volume.ErrNoDatastore; volume.ErrInvalid; and those of CNS.
func (s *Store) id(ctx context.Context, id string) (string, error) {
	if !IsPath(id) {
		return id, nil
	}
	p, err := ParsePath(id)
	if err != nil {
		return "", err
	}
	if is, err := s.cfg.Records.ID(ctx, id); is != "" || err != nil {
		return is, err
	}
	on, err := s.datastore(ctx, p)
	if err != nil {
		return "", fmt.Errorf("in-tree volume %q: %w", id, err)
	}
	v, err := s.Register(ctx, p.name(), on, p.File)
	if err == nil {
		err = s.Protect(ctx, v.ID)
	}
	if err == nil {
		err = s.cfg.Records.Put(ctx, id, v.ID)
	}
	if err != nil {
		return "", fmt.Errorf("in-tree volume %q: %w", id, err)
	}
	s.cfg.Logger.Info("in-tree volume is a volume of CNS from now on", "path", id, "volume", v.ID, "vcenter", v.VCenter)
	return v.ID, nil
}

// datastore chooses the one that a path means. One that several datacenters of a vCenter mount is an object in each, with
// one URL: it is the same datastore, and any of its objects does.
func (s *Store) datastore(ctx context.Context, p Path) (volume.Datastore, error) {
	all, err := s.Datastores(ctx, p.Datastore)
	if err != nil {
		return volume.Datastore{}, err
	}
	all = slices.CompactFunc(slices.SortedStableFunc(slices.Values(all), func(a, b volume.Datastore) int {
		return cmp.Or(cmp.Compare(a.VCenter, b.VCenter), cmp.Compare(a.URL, b.URL))
	}), func(a, b volume.Datastore) bool { return a.VCenter == b.VCenter && a.URL == b.URL && a.URL != "" })
	if len(all) == 1 {
		return all[0], nil
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(d volume.Datastore) bool { return !slices.Contains(s.cfg.DatastoreURLs(), d.URL) })
	if len(chosen) == 1 {
		return chosen[0], nil
	}
	var where strings.Builder
	for _, d := range all {
		fmt.Fprintf(&where, ", datacenter %q of vcenter %q", d.Datacenter, d.VCenter)
	}
	return volume.Datastore{}, fmt.Errorf("%w: the path may mean any of %d datastores named %q%s: set migration-datastore-url to the one that is meant, or rename the others",
		volume.ErrNoDatastore, len(all), p.Datastore, where.String())
}

// with runs f with the CNS volume of an id. A record may have outlived its volume: then the disk is looked for anew, once.
func (s *Store) with(ctx context.Context, id string, f func(id string) error) error {
	is, err := s.id(ctx, id)
	if err != nil {
		return err
	}
	if err = f(is); !IsPath(id) || !errors.Is(err, volume.ErrNotFound) {
		return err
	}
	if err := s.cfg.Records.Delete(ctx, id); err != nil {
		return err
	}
	if is, err = s.id(ctx, id); err != nil {
		return err
	}
	return f(is)
}
