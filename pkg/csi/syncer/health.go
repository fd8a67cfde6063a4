package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// readHealth reads the health of all volumes, in the calls of a full sync, and queues the volumes whose health has changed.
func (s *Syncer) readHealth(ctx context.Context) {
	bound := s.cluster.bound()
	records, err := s.cfg.CNS.Records(ctx)
	s.read = time.Now()
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("health of volumes is incomplete", "err", err)
	}
	for _, id := range s.setHealth(bound, records, err == nil) {
		s.queue.Add(id)
	}
}

// setHealth records the health of volumes, and returns the ids of those whose health has changed. bound is what [cluster.bound] returned
// before the records were read. A volume that CNS had, and does not have any more, is inaccessible, unless a vCenter has not responded:
// complete is false then. If CNS does not know the health of a volume, it stays as it was.
func (s *Syncer) setHealth(bound map[string]bool, records []volume.Record, complete bool) (changed []string) {
	if s.cfg.HealthPeriod <= 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh, seen := make(map[string]string, len(bound)), make(map[string]bool, len(records))
	for _, r := range records {
		seen[r.ID] = true
		if _, ok := bound[r.ID]; !ok {
			continue
		}
		if fresh[r.ID] = healthOf(r.Volume); r.HealthUnknown {
			fresh[r.ID] = s.health[r.ID]
		}
	}
	for id, recorded := range bound {
		switch {
		case seen[id]:
		case complete && (recorded || s.health[id] != ""):
			fresh[id] = names.Inaccessible
		default:
			fresh[id] = s.health[id]
		}
	}
	for id, state := range fresh {
		if state != s.health[id] {
			changed = append(changed, id)
		}
	}
	s.health = fresh
	return changed
}

// healthOf returns the health of a volume that CNS has.
func healthOf(v volume.Volume) string {
	if v.Healthy {
		return names.Accessible
	}
	return names.Inaccessible
}

// adopted records the health of a volume that CNS has just registered.
func (s *Syncer) adopted(v volume.Volume) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.HealthPeriod > 0 {
		s.health[v.ID] = healthOf(v)
	}
}

// annotate writes the health of a volume to the claims of its bound PersistentVolumes, with the time of the change.
func (s *Syncer) annotate(ctx context.Context, id string, pvs []*corev1.PersistentVolume) error {
	s.mu.Lock()
	state := s.health[id]
	s.mu.Unlock()
	if state == "" {
		return nil
	}
	var errs []error
	for _, pv := range pvs {
		claim := s.cluster.claimOf(pv)
		if claim == nil || claim.Annotations[names.HealthAnnotation] == state && claim.Annotations[names.HealthTimestampAnnotation] != "" {
			continue
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": claim.UID, // not to a claim that has this name later
			"annotations": map[string]string{
				names.HealthAnnotation: state, names.HealthTimestampAnnotation: time.Now().Format(time.UnixDate), // upstream's format
			},
		}})
		if err == nil {
			_, err = s.cfg.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is another claim now, or none
		case err != nil:
			errs = append(errs, fmt.Errorf("health: claim %s/%s: %w", claim.Namespace, claim.Name, err))
		default:
			s.cfg.Logger.Info("health of a volume", "volume", id, "claim", claim.Namespace+"/"+claim.Name, "health", state, "before", claim.Annotations[names.HealthAnnotation])
		}
	}
	return errors.Join(errs...)
}
