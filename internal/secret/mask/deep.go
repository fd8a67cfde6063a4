package mask

import "reflect"

// Deep returns a copy of v without secrets: every string and every []byte in exported fields, elements and values of maps. Keys of
// maps, names of fields and unexported fields stay, and so do values of named string types: they are words of this program, such as a
// verdict, which must not change because a Secret has the same word. Mask data in this way before it is written as JSON, XML or HTML: a secret that
// is a common word, such as "value", stands in the markup too, and a document is broken when it is masked as a text.
func Deep[T any](m *Mask, v T) T {
	was := reflect.ValueOf(&v).Elem()
	now := reflect.New(was.Type()).Elem()
	m.deep(now, was)
	return now.Interface().(T)
}

// deep sets now, which is of the type of was and its zero value.
func (m *Mask) deep(now, was reflect.Value) {
	switch was.Kind() {
	case reflect.String:
		if was.Type().PkgPath() != "" {
			now.Set(was)
			return
		}
		now.SetString(m.String(was.String()))
	case reflect.Pointer, reflect.Interface:
		if was.IsNil() {
			return
		}
		elem := reflect.New(was.Elem().Type())
		m.deep(elem.Elem(), was.Elem())
		if was.Kind() == reflect.Interface {
			elem = elem.Elem()
		}
		now.Set(elem)
	case reflect.Slice:
		if was.IsNil() {
			return
		}
		if was.Type().Elem().Kind() == reflect.Uint8 {
			now.SetBytes(m.Bytes(was.Bytes()))
			return
		}
		now.Set(reflect.MakeSlice(was.Type(), was.Len(), was.Len()))
		for i := range was.Len() {
			m.deep(now.Index(i), was.Index(i))
		}
	case reflect.Array:
		for i := range was.Len() {
			m.deep(now.Index(i), was.Index(i))
		}
	case reflect.Map:
		if was.IsNil() {
			return
		}
		now.Set(reflect.MakeMapWithSize(was.Type(), was.Len()))
		for it := was.MapRange(); it.Next(); {
			value := reflect.New(was.Type().Elem()).Elem()
			m.deep(value, it.Value())
			now.SetMapIndex(it.Key(), value)
		}
	case reflect.Struct:
		now.Set(was) // with what is not exported, such as that of a time
		for i := range was.NumField() {
			if was.Type().Field(i).IsExported() {
				now.Field(i).SetZero()
				m.deep(now.Field(i), was.Field(i))
			}
		}
	default:
		now.Set(was)
	}
}
