package property

import (
	"hash/maphash"
	"reflect"
	"time"
)

func isTime(t reflect.Type) bool { return t == reflect.TypeFor[time.Time]() }

// digest returns a hash of a value. It is 0 only for nil. A collision (1 in 2⁶⁴) would hide one change.
func (s *schema) digest(val any) uint64 {
	if val == nil {
		return 0
	}
	if str, ok := val.(string); ok { // most properties
		return maphash.String(s.seed, str) | 1
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	hashValue(&h, reflect.ValueOf(val))
	return h.Sum64() | 1
}

func hashValue(h *maphash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			h.WriteByte(0)
			return
		}
		h.WriteByte(1)
		e := v.Elem()
		if v.Kind() == reflect.Interface {
			h.WriteString(e.Type().String())
		}
		hashValue(h, e)
	case reflect.Slice:
		maphash.WriteComparable(h, v.Len())
		for i := range v.Len() {
			hashValue(h, v.Index(i))
		}
	case reflect.Struct:
		if isTime(v.Type()) {
			maphash.WriteComparable(h, v.Interface().(time.Time).UnixNano())
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				hashValue(h, v.Field(i))
			}
		}
	case reflect.String:
		maphash.WriteComparable(h, v.Len()) // "ab","c" is not "a","bc"
		h.WriteString(v.String())
	case reflect.Bool:
		maphash.WriteComparable(h, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		maphash.WriteComparable(h, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		maphash.WriteComparable(h, v.Uint())
	case reflect.Float32, reflect.Float64:
		maphash.WriteComparable(h, v.Float())
	}
}
