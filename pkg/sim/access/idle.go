package access

import (
	"math"
	"strconv"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// idleOption is vCenter's setting of the idle timeout of sessions, in minutes.
const idleOption = "config.vmacore.soap.sessionTimeout"

// parseIdle parses a value of the option: minutes as in vCenter, or a duration as in vcsim.
func parseIdle(value types.AnyType) (time.Duration, bool) {
	var minutes int64
	switch v := value.(type) {
	case int32:
		minutes = int64(v)
	case int64:
		minutes = v
	case int:
		minutes = int64(v)
	case string:
		d, err := time.ParseDuration(v)
		if err == nil && d > 0 {
			return d, true
		}
		if minutes, err = strconv.ParseInt(v, 10, 64); err != nil {
			return 0, false
		}
	}
	if minutes <= 0 || minutes > math.MaxInt64/int64(time.Minute) {
		return 0, false
	}
	return time.Duration(minutes) * time.Minute, true
}

// firstIdle sets the initial idle timeout. vcsim's sessions never end, unless the option is set.
func (m *Manager) firstIdle() {
	if !m.options.Stock.Has(stock.SessionIdle) {
		m.SetIdle(DefaultIdle)
	}
	for _, o := range m.base.Map.OptionManager().Setting {
		m.idleFrom(o)
	}
	if d := time.Duration(m.options.Sessions.Idle); d > 0 && !m.options.Stock.Has(stock.SessionIdle) {
		m.SetIdle(d)
	}
}

// SetIdle changes the idle timeout, also of open sessions.
func (m *Manager) SetIdle(d time.Duration) {
	m.idle.Store(int64(d))
	if !m.options.Stock.Has(stock.SessionIdle) {
		m.idleREST.Store(int64(d))
	}
	m.wake()
}

// idleFrom applies the option. It ignores an invalid value.
func (m *Manager) idleFrom(o types.BaseOptionValue) {
	if v := o.GetOptionValue(); v.Key == idleOption {
		if d, ok := parseIdle(v.Value); ok {
			m.SetIdle(d)
		}
	}
}

// wake makes the timer recalculate.
func (m *Manager) wake() {
	notify.Wake(m.kick)
}

// watch ends sessions when they expire. One timer serves all sessions.
func (m *Manager) watch() {
	defer close(m.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next, ok := m.sweep(time.Now()); ok {
			timer.Reset(max(next, time.Millisecond))
		} else {
			timer.Stop()
		}
		select {
		case <-m.stop:
			return
		case <-m.kick:
		case <-timer.C:
		}
	}
}

// sweep ends idle sessions and returns the time until the next expiry; ok is false if no session can expire.
func (m *Manager) sweep(now time.Time) (next time.Duration, ok bool) {
	var known map[string]time.Time // last calls in vcsim's sessions
	next = math.MaxInt64
	for _, s := range m.sessions.list(func(*session) bool { return true }) {
		idle := time.Duration(m.idle.Load())
		if s.rest {
			idle = time.Duration(m.idleREST.Load())
		}
		if idle <= 0 {
			continue
		}
		left := idle
		if s.calls.Load() == 0 {
			left = idle - now.Sub(time.Unix(0, s.used.Load()))
			if left <= 0 && !s.rest {
				// Calls of other endpoints (PBM, CNS) have the session in the message, which is not visible here.
				if known == nil {
					known = m.vcsimSessions()
				}
				left = idle - now.Sub(known[s.key])
			}
			if left <= 0 && s.calls.Load() == 0 {
				m.end(s)
				continue
			}
		}
		next = min(next, left)
	}
	return next, next < math.MaxInt64
}

// vcsimSessions lists vcsim's sessions with the time of the last call. It drops ended ones, which a concurrent call may have
// restored.
func (m *Manager) vcsimSessions() map[string]time.Time {
	// Through a session, the session manager lists all sessions.
	manager, ok := m.base.Session.Get(m.base.Map.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return nil
	}
	last := make(map[string]time.Time, len(manager.SessionList))
	for _, s := range manager.SessionList {
		last[s.Key] = s.LastActiveTime
		if m.sessions.get(s.Key) == nil && time.Since(s.LastActiveTime) > time.Minute {
			m.forget(s.Key)
		}
	}
	return last
}
