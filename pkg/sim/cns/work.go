package cns

// begin announces work that Close waits for; false when it is too late. Who began calls m.work.Done.
func (m *Manager) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.work.Add(1)
	return true
}

// later runs f on a goroutine of its own, unless the manager is being closed: for what cannot be done under the locks that
// are held now.
func (m *Manager) later(f func()) {
	if !m.begin() {
		return
	}
	go func() {
		defer m.work.Done()
		f()
	}()
}

// Close ends delays and stops following VMs, and waits for what is under way. Tasks that have been delayed end in
// RequestCanceled. Closing again is harmless.
func (m *Manager) Close() {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		close(m.stop)
	}
	m.mu.Unlock()
	m.base.Map.RemoveHandler(m.follower)
	m.work.Wait()
}
