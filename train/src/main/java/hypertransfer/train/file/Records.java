package hypertransfer.train.file;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import tools.jackson.databind.BeanDescription;
import tools.jackson.databind.DeserializationConfig;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.deser.ValueInstantiator;
import tools.jackson.databind.deser.ValueInstantiators;
import tools.jackson.databind.deser.std.StdValueInstantiator;
import tools.jackson.databind.module.SimpleModule;

/**
 * Records made by their constructors, called by reflection. Jackson calls them through method handles, for which Java
 * generates a hundred classes at the start of every run.
 */
final class Records extends SimpleModule implements ValueInstantiators {
    @Override
    public void setupModule(SetupContext context) {
        super.setupModule(context);
        context.addValueInstantiators(this);
    }

    @Override
    public ValueInstantiator findValueInstantiator(DeserializationConfig config, BeanDescription.Supplier type) {
        return null; // Jackson's own, which is modified below
    }

    @Override
    public ValueInstantiator modifyValueInstantiator(
            DeserializationConfig config, BeanDescription.Supplier type, ValueInstantiator own) {
        return type.getBeanClass().isRecord() && own instanceof StdValueInstantiator std ? new Reflective(std) : own;
    }

    private static final class Reflective extends StdValueInstantiator {
        Reflective(StdValueInstantiator own) {
            super(own);
        }

        @Override
        public Object createFromObjectWith(DeserializationContext context, Object[] arguments) {
            if (_withArgsCreator == null || !(_withArgsCreator.getAnnotated() instanceof Constructor<?> constructor)) {
                return super.createFromObjectWith(context, arguments);
            }
            try {
                return constructor.newInstance(arguments);
            } catch (InvocationTargetException e) {
                Throwable problem = rewrapCtorProblem(context, e.getCause());
                return context.handleInstantiationProblem(_valueClass, arguments, problem);
            } catch (ReflectiveOperationException e) {
                return context.handleInstantiationProblem(_valueClass, arguments, e);
            }
        }
    }
}
