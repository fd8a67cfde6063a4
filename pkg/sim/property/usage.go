package property

// Usage counts what clients hold.
type Usage struct {
	Collectors int // that were used since they were made
	Filters    int
	Views      int
}

// Usage counts what the clients of the vCenter hold at the moment.
func (s *Service) Usage() Usage {
	var u Usage
	for _, c := range s.all() {
		u.Collectors++
		u.Filters += len(c.filterRefs())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u.Views = len(s.views)
	return u
}
